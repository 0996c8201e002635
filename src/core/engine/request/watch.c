/* Waits for the next fact of a session: of reads that answer when something has happened. Owner: the loop
 * thread. */
#include "request/watch.h"
#include "engine_priv.h"

struct ar_watch_timer {
	struct ar_timer timer;
	struct ar_engine_watch *watch;
};

static void end_watch(struct ar_engine_watch *w, enum ar_engine_woken why)
{
	ar_list_del(&w->node);
	ar_timer_stop(&w->timer->timer);
	ar_free(w->timer);
	w->timer = NULL;
	w->done(w, why);
}

static void on_late(struct ar_timer *t)
{
	end_watch(AR_CONTAINER_OF(t, struct ar_watch_timer, timer)->watch, AR_WOKEN_LATE);
}

void ar_engine_watch(struct ar_engine *e, struct ar_engine_watch *w)
{
	w->timer = ar_new0(sizeof(*w->timer));
	w->timer->watch = w;
	w->timer->timer = (struct ar_timer){ .fire = on_late };
	ar_list_init(&w->timer->timer.node);
	ar_list_push(&e->watches, &w->node);
	ar_timer_start(e, &w->timer->timer, e->is_draining ? 0 : w->delay);
}

/* Those that begin again meanwhile are not woken again. */
void ar_watches_wake(struct ar_engine *e, struct ar_str session_key, enum ar_engine_woken why)
{
	struct ar_list woken, *node;

	ar_list_init(&woken);
	AR_LIST_FOR_SAFE (it, &e->watches) {
		struct ar_engine_watch *w = AR_CONTAINER_OF(it, struct ar_engine_watch, node);

		if (!ar_str_absent(session_key) && !ar_str_eq(w->session, session_key))
			continue;
		ar_list_del(&w->node);
		ar_list_push(&woken, &w->node);
	}
	while ((node = woken.next) != &woken)
		end_watch(AR_CONTAINER_OF(node, struct ar_engine_watch, node), why);
}
