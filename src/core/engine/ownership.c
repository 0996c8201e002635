/* Which sessions this engine carries. A partition that it gains is scanned for open work (recovery.c);
 * one that it releases is left at once: calls to the model are cancelled without a fact, inputs that
 * wait are refused as not_owner, readers end with their cursor, a batch in flight is waited for. What
 * was open stays open in the log, for the next owner to take up. */
#include "engine_priv.h"
#include "process/process_run.h"
#include "send/send_run.h"
#include "worker/worker_watch.h"

struct ar_engine_load ar_engine_load(const struct ar_engine *e, unsigned partition)
{
	return e->load[partition];
}

static void release_one(struct ar_live *l)
{
	l->is_pumping = true; /* a call that ends at once must not take the session away under us */
	ar_processes_release(l);
	ar_steps_release(l);
	ar_tools_release(l);
	ar_hooks_release(l);
	ar_inspects_release(l);
	ar_servers_release(l);
	ar_checkpoints_release(l);
	ar_sends_release(l);
	ar_timers_cancel(l);
	l->is_pumping = false;
	if (!ar_recovery_leave(l))
		ar_live_pump(l);
}

/* All are marked before the first one is touched: from then on none of them can be
 * evicted behind our back. */
static struct ar_live **mark(struct ar_engine *e, unsigned partition, struct ar_arena *a, size_t *ret_count)
{
	struct ar_live **marked =
		ar_arena_alloc(a, (e->load[partition].sessions + 1) * sizeof(struct ar_live *));
	struct ar_live *l;
	size_t cursor = 0, n = 0;

	while ((l = ar_map_next(&e->sessions, &cursor))) {
		if (l->partition != partition)
			continue;
		l->is_released = true;
		ar_live_wake(l);
		marked[n++] = l;
	}
	*ret_count = n;
	return marked;
}

void ar_engine_release(struct ar_engine *e, unsigned partition)
{
	struct ar_arena arena = { 0 };
	struct ar_live **marked;
	struct ar_error err;
	size_t count;

	ar_partition_remove(&e->owned, partition);
	ar_worker_watch_moved(e);
	ar_refuse(&err, AR_ERR_NOT_OWNER,
		  "the session moves to another node; connect again with the last event id");
	ar_follow_end_partition(e->o.follow, partition, &err);
	marked = mark(e, partition, &arena, &count);
	for (size_t i = 0; i < count; i++)
		release_one(marked[i]);
	ar_arena_fini(&arena);
}
