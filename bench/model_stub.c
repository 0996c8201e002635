/* A model that costs nothing: every request gets a whole streamed chat completion in one write, or with
 * --hang none at all. The answers are the lines of a file (text as it stands in JSON, without quotes), one
 * after another.
 *
 *   bench-model-stub FILE [--hang] */
#include "tiny_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 90 /* bytes of answer in one event */
#define EVENT_ROOM 256

struct stub {
	FILE *lines;
	char *line;
	size_t room;
	char *answer;
	int is_silent;
};

static const char event_start[] = "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,"
				  "\"model\":\"stub\",\"choices\":[{\"index\":0,\"delta\":";
static const char stream_end[] = "{},\"finish_reason\":\"stop\"}]}\n\n"
				 "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,"
				 "\"model\":\"stub\",\"choices\":[],\"usage\":{\"prompt_tokens\":40,"
				 "\"completion_tokens\":220,\"total_tokens\":260}}\n\n"
				 "data: [DONE]\n\n";

/* At most CHUNK bytes, ending neither inside an escape nor inside a character. */
static size_t piece_length(const char *text)
{
	size_t n = strnlen(text, CHUNK);

	while (n > 1 && text[n] && ((text[n] & 0xc0) == 0x80 || text[n - 1] == '\\'))
		n--;
	return n;
}

static size_t write_stream(char *to, const char *text)
{
	char *start = to;

	to += sprintf(to, "%s{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
		      event_start);
	for (size_t n; (n = piece_length(text)) > 0; text += n)
		to += sprintf(to, "%s{\"content\":\"%.*s\"},\"finish_reason\":null}]}\n\n", event_start,
			      (int)n, text);
	to += sprintf(to, "%s%s", event_start, stream_end);
	return (size_t)(to - start);
}

static struct tiny_answer next_answer(void *arg, const char *request, size_t len)
{
	struct stub *s = arg;
	ssize_t n;
	size_t body, room;
	int head;

	(void)request;
	(void)len;
	if (s->is_silent)
		return (struct tiny_answer){ 0 };
	n = getline(&s->line, &s->room, s->lines);
	if (n <= 0) {
		rewind(s->lines);
		n = getline(&s->line, &s->room, s->lines);
	}
	s->line[n - 1] = '\0';
	room = ((size_t)n / (CHUNK / 2) + 8) * (EVENT_ROOM + CHUNK);
	s->answer = realloc(s->answer, room + EVENT_ROOM);
	body = write_stream(s->answer + EVENT_ROOM, s->line);
	head = sprintf(s->answer,
		       "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %zu\r\n\r\n",
		       body);
	memmove(s->answer + EVENT_ROOM - head, s->answer, (size_t)head);
	return (struct tiny_answer){ .p = s->answer + EVENT_ROOM - head, .len = body + (size_t)head };
}

int main(int argc, char **argv)
{
	struct stub s = { .is_silent = argc > 2 && strcmp(argv[2], "--hang") == 0 };

	s.lines = argc > 1 ? fopen(argv[1], "r") : NULL;
	if (!s.lines) {
		fprintf(stderr, "usage: bench-model-stub FILE [--hang]\n");
		return 2;
	}
	tiny_serve(next_answer, &s);
	return 0;
}
