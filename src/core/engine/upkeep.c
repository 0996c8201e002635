/* Sessions that nobody touched for long are forgotten, a few at a time in the background: the
 * store removes them, and whatever is in memory of them goes too. Only partitions that we own:
 * nobody else can be writing there. Bounded steps with pauses between, so that those who work
 * do not notice. Loop thread. */
#include "engine_priv.h"
#include "meter.h"

#include <string.h>

#define STEP_SESSIONS 64
#define STEP_PAUSE ((ar_usec)1000000) /* while there is more */
#define ROUND_PAUSE ((ar_usec)60 * 1000000)
#define GRACE ((ar_usec)3600 * 1000000) /* that content without a reference stays */

static void on_step(struct ar_store_op *op);

void ar_upkeep_end_readers(struct ar_engine *e, struct ar_str session_key)
{
	struct ar_error err;

	ar_refuse(&err, AR_ERR_SESSION_NOT_FOUND, "the session was removed by retention");
	ar_follow_end_session(e->o.follow, session_key, &err);
}

/* One that is at work is refused by the store and then lets go by itself. */
static void drop_removed(struct ar_upkeep *u)
{
	for (size_t i = 0; i < u->op.removed; i++) {
		ar_upkeep_end_readers(u->engine, u->op.ids[i]);
		ar_live_drop(u->engine, u->op.ids[i]);
		if (u->op.op.status == AR_OK && u->engine->o.on_removed)
			u->engine->o.on_removed(u->engine->o.arg, u->op.ids[i]);
	}
}

static void step(struct ar_timer *t)
{
	struct ar_upkeep *u = AR_CONTAINER_OF(t, struct ar_upkeep, timer);
	struct ar_clock *clock = u->engine->o.clock;
	ar_usec now = clock->wall(clock);

	if (u->engine->is_stopping)
		return;
	u->owned = u->engine->owned; /* a copy: what is owned may change while the store is at it */
	u->op = (struct ar_store_upkeep){ .op = { .kind = AR_STORE_UPKEEP, .done = on_step },
					  .before = u->keep ? now - u->keep : 0,
					  .doomed_before = now - GRACE,
					  .audit_before = u->keep_audit ? now - u->keep_audit : 0,
					  .usage_before = u->keep_usage ? now - u->keep_usage : 0,
					  .limit = STEP_SESSIONS,
					  .partitions = u->owned.bits,
					  .after = u->has_after ? (struct ar_str){ u->after.session_key,
										   AR_SESSION_KEY_LEN }
								: AR_STR_NONE };
	ar_store_submit(u->engine->o.store, &u->op.op);
}

static void on_step(struct ar_store_op *op)
{
	struct ar_upkeep *u = AR_CONTAINER_OF(op, struct ar_upkeep, op.op);
	bool is_well = op->status == AR_OK;

	drop_removed(u);
	ar_meter_sealed(u->engine->o.metrics, is_well ? u->op.sealed : 0);
	u->has_after = is_well && !ar_str_absent(u->op.next);
	if (u->has_after)
		memcpy(u->after.session_key, u->op.next.p, AR_SESSION_KEY_LEN);
	ar_store_op_fini(op);
	if (op->status != AR_E_FENCED) /* then it is over for all of us, and the next append says so */
		ar_timer_start(u->engine, &u->timer, is_well && u->op.more ? STEP_PAUSE : ROUND_PAUSE);
}

void ar_engine_keep(struct ar_engine *e, ar_usec keep, ar_usec keep_audit, ar_usec keep_usage)
{
	struct ar_upkeep *u = &e->upkeep;

	u->engine = e;
	u->keep = keep;
	u->keep_audit = keep_audit;
	u->keep_usage = keep_usage;
	u->timer.fire = step;
	ar_timer_start(e, &u->timer, STEP_PAUSE);
}

void ar_upkeep_fini(struct ar_upkeep *u)
{
	ar_store_op_fini(&u->op.op);
}
