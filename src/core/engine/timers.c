/* Timers, ordered by due time: waits before a retry, deadlines of questions. Monotonic; the host
 * asks for the next deadline. */
#include "engine_priv.h"

#define STEP_MIN 1000000 /* microseconds; less is a correction */

ar_usec ar_clock_step(ar_usec before, ar_usec now)
{
	return before != 0 && now < before - STEP_MIN ? now - before : 0;
}

void ar_timer_start(struct ar_engine *e, struct ar_timer *t, ar_usec delay)
{
	struct ar_list *at = e->timers.prev;

	t->due = e->o.clock->mono(e->o.clock) + (delay > 0 ? delay : 0);
	while (at != &e->timers && AR_CONTAINER_OF(at, struct ar_timer, node)->due > t->due)
		at = at->prev;
	ar_list_push(at->next, &t->node); /* before the first that is due later */
	if (t->live)
		t->live->timers++;
}

static void unlink_timer(struct ar_timer *t)
{
	ar_list_del(&t->node);
	ar_list_init(&t->node);
	if (t->live)
		t->live->timers--;
}

bool ar_timer_stop(struct ar_timer *t)
{
	if (ar_list_empty(&t->node))
		return false;
	unlink_timer(t);
	return true;
}

void ar_timers_cancel(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->engine->timers) {
		struct ar_timer *t = AR_CONTAINER_OF(it, struct ar_timer, node);

		if (t->live != l)
			continue;
		unlink_timer(t);
		if (t->drop)
			t->drop(t);
	}
}

void ar_timers_drop(struct ar_engine *e)
{
	while (!ar_list_empty(&e->timers)) {
		struct ar_timer *t = AR_CONTAINER_OF(e->timers.next, struct ar_timer, node);

		unlink_timer(t);
		if (t->drop)
			t->drop(t);
	}
}

ar_usec ar_engine_deadline(const struct ar_engine *e)
{
	if (ar_list_empty(&e->timers))
		return 0;
	return AR_CONTAINER_OF(e->timers.next, struct ar_timer, node)->due;
}

void ar_engine_tick(struct ar_engine *e)
{
	ar_usec now = e->o.clock->mono(e->o.clock);

	while (!ar_list_empty(&e->timers)) {
		struct ar_timer *t = AR_CONTAINER_OF(e->timers.next, struct ar_timer, node);

		if (t->due > now)
			return;
		unlink_timer(t);
		t->fire(t);
	}
}
