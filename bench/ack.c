/* From a submit to its receipt, against a bare commit of the same rows: one of ours, one of the floor, in
 * turns, so that whatever the disk is doing meets both. Built once with each engine behind floor_rows.h.
 *
 *   bench-ack PORT BODY SOURCE TARGET COUNT PAUSE_MICROSECONDS
 *
 * Ten digits of the counter replace the word @@@@@@@@@@ in BODY. SOURCE is a store that took such submits
 * before. The pause lets the runtime begin the model call of the last turn. Prints {"ours_us","floor_us"},
 * medians. */
#include "client.h"
#include "floor_rows.h"

#include "mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK "@@@@@@@@@@"

struct ack {
	struct client client;
	double took;
};

static void on_reply(struct client_conn *c, struct ar_str text, void *arg)
{
	struct ack *a = arg;

	if (!ar_str_starts(text, AR_STR("HTTP/1.1 202")))
		client_die("submit_turn", text);
	a->took = client_now() - c->started;
	a->client.is_over = true;
}

static double submit(struct ack *a, struct client_conn *c, char *body, size_t number)
{
	char *mark = strstr(body, MARK);
	char digits[32];

	snprintf(digits, sizeof digits, "%010zu", number);
	memcpy(mark, digits, sizeof MARK - 1);
	a->client.is_over = false;
	client_post(&a->client, c, "/v1/submit_turn", ar_str_from(body));
	client_run(&a->client);
	memcpy(mark, MARK, sizeof MARK - 1);
	return a->took;
}

int main(int argc, char **argv)
{
	struct ack a;
	struct client_conn *c;
	struct floor_rows *f;
	double *ours, *bare;
	size_t count;
	useconds_t pause_us;

	if (argc < 7 || !strstr(argv[2], MARK)) {
		fprintf(stderr, "usage: bench-ack PORT BODY SOURCE TARGET COUNT PAUSE_MICROSECONDS\n");
		return 2;
	}
	client_open(&a.client, (unsigned)strtoul(argv[1], NULL, 10), on_reply, &a);
	c = client_connect(&a.client, 0);
	f = floor_open(argv[3], argv[4]);
	count = strtoul(argv[5], NULL, 10);
	pause_us = (useconds_t)strtoul(argv[6], NULL, 10);
	if (count > floor_appends(f))
		client_die("the source has fewer appends", ar_str_from(argv[5]));
	ours = ar_new0(count * sizeof *ours);
	bare = ar_new0(count * sizeof *bare);
	for (size_t i = 0; i < count; i++) {
		ours[i] = submit(&a, c, argv[2], i);
		usleep(pause_us);
		bare[i] = floor_commit(f, i, i + 1);
		usleep(pause_us);
	}
	printf("{\"ours_us\":%.1f,\"floor_us\":%.1f}\n", client_percentile(ours, count, 0.5),
	       client_percentile(bare, count, 0.5));
	return 0;
}
