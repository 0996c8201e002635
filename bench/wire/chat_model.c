/* A model that streams, and the tool that it asks for: a request whose last message is the user's is answered
 * with one call of the tool `look`, one that ends with a tool's result with a line of FILE in events of five
 * words, each an HTTP chunk and a send() of its own. A GET is the tool.
 *
 *   bench-chat-model FILE [PAUSE_MS]
 *
 * PAUSE_MS stands before each event of the text; without it all come at once. */
#include "tiny_server.h"

#include "buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 5 /* of an event */

struct chat {
	FILE *lines;
	char *line;
	size_t room;
	unsigned pause_ms;
	struct ar_buf event, answer;
};

static const char event_start[] = "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,"
				  "\"model\":\"stub\",\"choices\":[{\"index\":0,\"delta\":";
static const char usage[] = "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,"
			    "\"model\":\"stub\",\"choices\":[],\"usage\":{\"prompt_tokens\":40,"
			    "\"completion_tokens\":220,\"total_tokens\":260}}\n\n"
			    "data: [DONE]\n\n";
#define TOOL_CALL \
	"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"index\":0,\"id\":\"call_1\"," \
	"\"type\":\"function\",\"function\":{\"name\":\"look\"," \
	"\"arguments\":\"{\\\"q\\\":\\\"what is asked for\\\"}\"}}]}"

/* One HTTP chunk with what was put together as the next event. */
static void end_chunk(struct chat *c)
{
	ar_buf_addf(&c->answer, "%zx\r\n", c->event.len);
	ar_buf_adds(&c->answer, ar_buf_str(&c->event));
	ar_buf_addz(&c->answer, "\r\n");
	ar_buf_clear(&c->event);
}

static void add_event(struct chat *c, struct ar_str delta, const char *finish)
{
	ar_buf_addf(&c->event, "%s%.*s,\"finish_reason\":%s}]}\n\n", event_start, AR_STR_ARG(delta), finish);
	end_chunk(c);
}

static void next_line(struct chat *c)
{
	ssize_t n = getline(&c->line, &c->room, c->lines);

	if (n <= 0) {
		rewind(c->lines);
		n = getline(&c->line, &c->room, c->lines);
	}
	c->line[n - 1] = '\0';
}

/* So many words and the spaces behind them; the rest when there are fewer. */
static size_t words_length(const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < WORDS && text[n]; i++) {
		n += strcspn(text + n, " ");
		n += strspn(text + n, " ");
	}
	return n;
}

static void write_text(struct chat *c)
{
	struct ar_buf delta = { 0 };
	size_t n;

	next_line(c);
	for (const char *text = c->line; (n = words_length(text)) > 0; text += n) {
		ar_buf_clear(&delta);
		ar_buf_addf(&delta, "{\"content\":\"%.*s\"}", (int)n, text);
		add_event(c, ar_buf_str(&delta), "null");
	}
	ar_buf_fini(&delta);
	add_event(c, AR_STR("{}"), "\"stop\"");
}

static void write_call(struct chat *c)
{
	add_event(c, AR_STR(TOOL_CALL), "null");
	add_event(c, AR_STR("{}"), "\"tool_calls\"");
}

/* Whether the last message of the conversation is a tool's result. */
static bool ends_with_tool(struct ar_str request)
{
	static const char role[] = "\"role\":\"";
	const char *last = NULL;

	for (const char *at; (at = memmem(request.p, request.len, role, sizeof role - 1)); last = at)
		request = ar_str_sub(request, (size_t)(at - request.p) + sizeof role - 1, request.len);
	return last && strncmp(last + sizeof role - 1, "tool", 4) == 0;
}

static struct tiny_answer model_answer(struct chat *c, bool is_text)
{
	ar_buf_addz(&c->answer, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
				"Transfer-Encoding: chunked\r\n\r\n");
	if (is_text)
		write_text(c);
	else
		write_call(c);
	ar_buf_addz(&c->event, usage);
	end_chunk(c);
	ar_buf_addz(&c->answer, "0\r\n\r\n");
	return (struct tiny_answer){ .p = c->answer.p,
				     .len = c->answer.len,
				     .is_stream = true,
				     .pause_ms = is_text ? c->pause_ms : 0 };
}

static struct tiny_answer answer(void *arg, const char *request, size_t len)
{
	struct chat *c = arg;

	ar_buf_clear(&c->answer);
	if (strncmp(request, "GET ", 4) != 0)
		return model_answer(c, ends_with_tool((struct ar_str){ request, len }));
	next_line(c);
	c->line[strlen(c->line) < 200 ? strlen(c->line) : 200] = '\0';
	ar_buf_addf(&c->answer,
		    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s",
		    strlen(c->line), c->line);
	return (struct tiny_answer){ .p = c->answer.p, .len = c->answer.len };
}

int main(int argc, char **argv)
{
	struct chat c = { .pause_ms = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0 };

	c.lines = argc > 1 ? fopen(argv[1], "r") : NULL;
	if (!c.lines) {
		fprintf(stderr, "usage: bench-chat-model FILE [PAUSE_MS]\n");
		return 2;
	}
	tiny_serve(answer, &c);
	return 0;
}
