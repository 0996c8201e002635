/* Load of whole turns with a reader each: so many sessions at once; the reader of a session takes every event
 * of it, output included, and the next turn is submitted when it has seen the end of the last.
 *
 *   bench-chat PORT SESSIONS TURNS FILE
 *
 * Prompts are lines of FILE (text as it stands in JSON, without quotes). Makes the sessions, opens the
 * readers, runs one turn in each; then prints {"ready":true} and waits for a line, so that whoever started it
 * can look at the server before and after. Prints
 * {"turns","seconds","p50_us","stream_bytes","stream_events"}. */
#include "client.h"

#include "mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
	char id[CLIENT_ID_ROOM];
	struct client_conn *commands, *events;
	size_t ended; /* turns, without the first one */
	bool is_warm; /* the first one ended */
	double submitted;
};

struct chat {
	struct client client;
	struct session *sessions;
	size_t count, per_session, submitted, warm, over;
	struct ar_str *prompts;
	size_t prompt_count;
	struct ar_buf body;
	size_t stream_bytes, stream_events;
	double *times;
	size_t time_count;
	double started;
};

static void submit(struct chat *t, struct session *s)
{
	struct ar_str prompt = t->prompts[t->submitted % t->prompt_count];

	ar_buf_clear(&t->body);
	ar_buf_addf(&t->body, "{\"idempotencyKey\":\"k%d-%zu\",\"text\":\"%.*s\",\"sessionId\":\"%s\"}",
		    (int)getpid(), t->submitted++, AR_STR_ARG(prompt), s->id);
	s->submitted = client_now();
	client_post(&t->client, s->commands, "/v1/submit_turn", ar_buf_str(&t->body));
}

static void create(struct chat *t, size_t number)
{
	t->sessions[number].commands = client_connect(&t->client, number);
	client_post(&t->client, t->sessions[number].commands, "/v1/create_session", AR_STR("{}"));
}

/* The first answer names the session: its reader is opened and its first turn begun. */
static void take_answer(struct chat *t, struct session *s, struct ar_str text)
{
	bool is_first = !*s->id;

	client_read_session("command", text, "HTTP/1.1 20", s->id);
	if (!is_first)
		return;
	s->events = client_follow(&t->client, (size_t)(s - t->sessions), s->id, "");
	submit(t, s);
}

/* All sessions are made and have had a turn. */
static void begin(struct chat *t)
{
	printf("{\"ready\":true}\n");
	fflush(stdout);
	if (getchar() == EOF)
		client_die("standard input", AR_STR("has no line"));
	t->stream_bytes = t->stream_events = 0;
	t->started = client_now();
	for (size_t i = 0; i < t->count; i++)
		submit(t, &t->sessions[i]);
}

static void end_turn(struct chat *t, struct session *s)
{
	if (!s->is_warm) {
		s->is_warm = true;
		if (++t->warm == t->count)
			begin(t);
		return;
	}
	t->times[t->time_count++] = client_now() - s->submitted;
	if (++s->ended < t->per_session)
		submit(t, s);
	else
		t->client.is_over = ++t->over == t->count;
}

static void on_reply(struct client_conn *c, struct ar_str text, void *arg)
{
	struct chat *t = arg;
	struct session *s = &t->sessions[c->number];

	if (!c->is_stream) {
		take_answer(t, s, text);
		return;
	}
	t->stream_bytes += text.len;
	t->stream_events += client_count(text, AR_STR("\ndata: "));
	if (client_count_ends(text) > 0)
		end_turn(t, s);
}

int main(int argc, char **argv)
{
	struct chat t = { 0 };

	if (argc < 5) {
		fprintf(stderr, "usage: bench-chat PORT SESSIONS TURNS FILE\n");
		return 2;
	}
	client_open(&t.client, (unsigned)strtoul(argv[1], NULL, 10), on_reply, &t);
	t.count = strtoul(argv[2], NULL, 10);
	t.per_session = strtoul(argv[3], NULL, 10);
	t.prompts = client_lines(argv[4], &t.prompt_count);
	t.sessions = ar_new0(t.count * sizeof *t.sessions);
	t.times = ar_new0(t.count * t.per_session * sizeof *t.times);
	for (size_t i = 0; i < t.count; i++)
		create(&t, i);
	client_run(&t.client);
	printf("{\"turns\":%zu,\"seconds\":%.6f,\"p50_us\":%.1f,\"stream_bytes\":%zu,\"stream_events\":%zu}"
	       "\n",
	       t.time_count, (client_now() - t.started) / 1e6, client_percentile(t.times, t.time_count, 0.5),
	       t.stream_bytes, t.stream_events);
	return 0;
}
