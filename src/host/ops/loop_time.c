/* See loop_time.h. */
#include "ops/loop_time.h"
#include "clock.h"
#include "metrics.h"

#define WINDOW ((ar_usec)60 * 1000000)

static ar_usec mono(void)
{
	return ar_clock_system()->mono(ar_clock_system());
}

static ar_usec idle(const struct ar_loop_time *t)
{
	return (ar_usec)(uv_metrics_idle_time(t->loop) / 1000);
}

void ar_loop_time_init(struct ar_loop_time *t, uv_loop_t *loop, struct ar_metrics *m)
{
	t->loop = loop;
	t->rounds = ar_metric_find(m, AR_METRIC_LOOP_CPU, AR_STR_NONE, AR_STR_NONE);
	uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
	t->cpu = ar_clock_thread_cpu();
	t->mono = mono();
	t->window_ends = t->mono + WINDOW;
}

static void raise_longest(struct ar_longest *l, ar_usec time)
{
	if (time > l->now)
		l->now = time;
}

static void begin_window(struct ar_longest *l, bool is_next)
{
	l->last = is_next ? l->now : 0;
	l->now = 0;
}

/* After a long sleep the last whole window is an empty one. */
static void turn_window(struct ar_loop_time *t)
{
	bool is_next = t->mono < t->window_ends + WINDOW;

	if (t->mono < t->window_ends)
		return;
	begin_window(&t->longest_cpu, is_next);
	begin_window(&t->longest_busy, is_next);
	t->window_ends = t->mono + WINDOW;
}

void ar_loop_time_round(struct ar_loop_time *t)
{
	ar_usec cpu = ar_clock_thread_cpu(), now = mono(), slept = idle(t);

	ar_metric_series_observe(t->rounds, cpu - t->cpu);
	raise_longest(&t->longest_cpu, cpu - t->cpu);
	raise_longest(&t->longest_busy, now - t->mono - (slept - t->idle));
	t->cpu = cpu;
	t->mono = now;
	t->idle = slept;
	turn_window(t);
}

static int64_t longest_of(const struct ar_longest *l)
{
	return l->now > l->last ? l->now : l->last;
}

void ar_loop_time_measure(struct ar_loop_time *t, struct ar_metrics *m)
{
	ar_metric_set(m, AR_METRIC_LOOP_CPU_LONGEST, AR_STR_NONE, AR_STR_NONE, longest_of(&t->longest_cpu));
	ar_metric_set(m, AR_METRIC_LOOP_BUSY_LONGEST, AR_STR_NONE, AR_STR_NONE, longest_of(&t->longest_busy));
}
