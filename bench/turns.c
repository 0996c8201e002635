/* Load of whole turns: so many sessions at once, each submits a turn, sees its end on its event stream,
 * submits the next.
 *
 *   bench-turns PORT SESSIONS TURNS FILE
 *
 * Prompts are the lines of FILE (text as it stands in JSON, without quotes). Prints {"turns","seconds"}. */
#include "client.h"

#include "mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
	char id[CLIENT_ID_ROOM];
	struct client_conn *commands, *events;
	size_t ended; /* turns */
};

struct turns {
	struct client client;
	struct session *sessions;
	size_t count, per_session, submitted, over;
	struct ar_str *prompts;
	size_t prompt_count;
	struct ar_buf body;
};

static void submit(struct turns *t, struct session *s)
{
	struct ar_str prompt = t->prompts[t->submitted % t->prompt_count];

	ar_buf_clear(&t->body);
	ar_buf_addf(&t->body, "{\"idempotencyKey\":\"k%zu\",\"text\":\"%.*s\",", t->submitted++,
		    AR_STR_ARG(prompt));
	if (*s->id)
		ar_buf_addf(&t->body, "\"sessionId\":\"%s\"}", s->id);
	else
		ar_buf_addf(&t->body, "\"createPolicy\":{}}");
	client_post(&t->client, s->commands, "/v1/submit_turn", ar_buf_str(&t->body));
}

/* The first receipt names the session; its stream is opened then. */
static void take_receipt(struct turns *t, struct session *s, struct ar_str text)
{
	bool is_first = !*s->id;

	client_read_session("submit_turn", text, "HTTP/1.1 202", s->id);
	if (is_first)
		s->events = client_follow(&t->client, (size_t)(s - t->sessions), s->id,
					  ",\"deltas\":false,\"types\":[\"turn.completed\",\"turn.failed\"]");
}

static void on_reply(struct client_conn *c, struct ar_str text, void *arg)
{
	struct turns *t = arg;
	struct session *s = &t->sessions[c->number];
	size_t ends;

	if (!c->is_stream) {
		take_receipt(t, s, text);
		return;
	}
	ends = client_count_ends(text);
	s->ended += ends;
	if (!ends)
		return;
	if (s->ended < t->per_session)
		submit(t, s);
	else
		t->client.is_over = ++t->over == t->count;
}

int main(int argc, char **argv)
{
	struct turns t = { 0 };
	double start;

	if (argc < 5) {
		fprintf(stderr, "usage: bench-turns PORT SESSIONS TURNS FILE\n");
		return 2;
	}
	client_open(&t.client, (unsigned)strtoul(argv[1], NULL, 10), on_reply, &t);
	t.count = strtoul(argv[2], NULL, 10);
	t.per_session = strtoul(argv[3], NULL, 10);
	t.prompts = client_lines(argv[4], &t.prompt_count);
	t.sessions = ar_new0(t.count * sizeof *t.sessions);
	start = client_now();
	for (size_t i = 0; i < t.count; i++) {
		t.sessions[i].commands = client_connect(&t.client, i);
		submit(&t, &t.sessions[i]);
	}
	client_run(&t.client);
	printf("{\"turns\":%zu,\"seconds\":%.6f}\n", t.submitted, (client_now() - start) / 1e6);
	return 0;
}
