/* Load of one request: the same POST over and over, on so many connections, one at a time on each.
 *
 *   bench-load PORT PATH BODY CONNECTIONS COUNT
 *
 * Ten digits of the counter replace the word @@@@@@@@@@ in BODY. Prints
 * {"requests","seconds","p50_us","p99_us", "reply_bytes","head_bytes"}; an answer outside 2xx ends it. */
#include "client.h"

#include "mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "@@@@@@@@@@"

struct load {
	struct client client;
	const char *path;
	char *body;
	char *mark; /* where the counter stands in the body; NULL when it has none */
	size_t given, answered, count;
	double *times;
	size_t reply_bytes, head_bytes;
};

static void post_next(struct load *l, struct client_conn *c)
{
	char digits[32];

	if (l->given == l->count)
		return;
	if (l->mark) {
		snprintf(digits, sizeof digits, "%010zu", l->given);
		memcpy(l->mark, digits, sizeof MARK - 1);
	}
	l->given++;
	client_post(&l->client, c, l->path, ar_str_from(l->body));
}

static void on_reply(struct client_conn *c, struct ar_str text, void *arg)
{
	struct load *l = arg;
	const char *body = memmem(text.p, text.len, "\r\n\r\n", 4);

	if (!ar_str_starts(text, AR_STR("HTTP/1.1 2")))
		client_die(l->path, text);
	l->times[l->answered++] = client_now() - c->started;
	l->head_bytes = (size_t)(body + 4 - text.p);
	l->reply_bytes = text.len - l->head_bytes;
	l->client.is_over = l->answered == l->count;
	post_next(l, c);
}

int main(int argc, char **argv)
{
	struct load l = { 0 };
	size_t connections;
	double start;

	if (argc < 6) {
		fprintf(stderr, "usage: bench-load PORT PATH BODY CONNECTIONS COUNT\n");
		return 2;
	}
	client_open(&l.client, (unsigned)strtoul(argv[1], NULL, 10), on_reply, &l);
	l.path = argv[2];
	l.body = argv[3];
	l.mark = strstr(l.body, MARK);
	connections = strtoul(argv[4], NULL, 10);
	l.count = strtoul(argv[5], NULL, 10);
	l.times = ar_new0((l.count + 1) * sizeof *l.times);
	start = client_now();
	for (size_t i = 0; i < connections; i++)
		post_next(&l, client_connect(&l.client, i));
	client_run(&l.client);
	printf("{\"requests\":%zu,\"seconds\":%.6f,", l.count, (client_now() - start) / 1e6);
	printf("\"p50_us\":%.1f,\"p99_us\":%.1f,\"reply_bytes\":%zu,\"head_bytes\":%zu}\n",
	       client_percentile(l.times, l.count, 0.5), client_percentile(l.times, l.count, 0.99),
	       l.reply_bytes, l.head_bytes);
	return 0;
}
