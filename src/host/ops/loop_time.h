/* How long the loop thread works without looking for what else has arrived: the time of each round of
 * its event loop, as processor time of the thread (what others on the machine do does not change it)
 * and on the clock. A long round is a request that made all others wait. Owner: the loop thread. */
#ifndef AR_HOST_OPS_LOOP_TIME_H
#define AR_HOST_OPS_LOOP_TIME_H

#include "metric.h"

#include <uv.h>

/* The longest of the last whole window and of the one that runs. */
struct ar_longest {
	ar_usec last, now;
};

struct ar_loop_time {
	uv_loop_t *loop;
	struct ar_metric_series *rounds;
	ar_usec cpu, mono, idle; /* when the round began; idle: that the loop has slept in all its life */
	ar_usec window_ends;
	struct ar_longest longest_cpu, longest_busy;
};

/* Before the loop runs. */
void ar_loop_time_init(struct ar_loop_time *t, uv_loop_t *loop, struct ar_metrics *m);

/* In each round, before the loop sleeps. */
void ar_loop_time_round(struct ar_loop_time *t);

/* Sets the gauges. */
void ar_loop_time_measure(struct ar_loop_time *t, struct ar_metrics *m);

#endif
