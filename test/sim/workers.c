/* A worker that has the workspace of some seeds: connected, away, silent or lost as chance has it, with its
 * own numbers, so that seeds without one are as they were. It refuses what begins while it is not connected,
 * and loses calls that have no process yet when its lease ends; processes go on. In the end it is there.
 * Below are the laws of the facts about it. */
#include "sim.h"

#define EVERY 3 /* of so many seeds one has a worker */

static uint64_t draw(struct sim *s, uint64_t n)
{
	return ar_store_random(&s->worker.random) % n;
}

static struct ar_worker_status find(struct ar_workers *workers, struct ar_str id)
{
	struct sim *s = AR_CONTAINER_OF(workers, struct sim, worker.port);

	if (!ar_str_is(id, SIM_WORKER))
		sim_fail(s, "nobody has worker %.*s", AR_STR_ARG(id));
	return (struct ar_worker_status){ .state = s->worker.state, .last_seen = s->now };
}

static void change(struct sim *s, enum ar_worker_state state)
{
	static const char *const words[] = { [AR_WORKER_AWAY] = "away",
					     [AR_WORKER_CONNECTED] = "connected",
					     [AR_WORKER_STALE] = "stale",
					     [AR_WORKER_LOST] = "lost" };

	if (s->worker.state == state)
		return;
	sim_say(s, "worker", "is %s", words[state]);
	s->worker.state = state;
	s->counts->worker_changes++;
	if (state == AR_WORKER_LOST)
		sim_tools_cut(s);
	s->worker.port.on_changed(s->worker.port.arg, AR_STR(SIM_WORKER), state);
}

/* Silence comes before a loss. */
static enum ar_worker_state next_of(struct sim *s)
{
	if (s->is_calm)
		return AR_WORKER_CONNECTED;
	switch (s->worker.state) {
	case AR_WORKER_CONNECTED:
		return draw(s, 4) ? AR_WORKER_STALE : AR_WORKER_AWAY;
	case AR_WORKER_STALE:
		return draw(s, 4) ? AR_WORKER_LOST : AR_WORKER_CONNECTED;
	default:
		return AR_WORKER_CONNECTED;
	}
}

/* Short enough that some calls do not end in between. */
static ar_usec pause_of(struct sim *s)
{
	if (s->worker.state == AR_WORKER_STALE)
		return (ar_usec)draw(s, 4 * SIM_MS) + 1;
	return (ar_usec)draw(s, (draw(s, 2) ? 20 : 2) * (uint64_t)s->plan.pace) + SIM_MS;
}

/* None is removed here. */
static void drop(struct ar_workers *w AR_UNUSED, struct ar_str id AR_UNUSED)
{
}

static void worker_step(struct sim *s, struct sim_actor *a)
{
	bool is_over = s->is_calm && s->worker.state == AR_WORKER_CONNECTED;

	if (is_over)
		return;
	change(s, next_of(s));
	sim_actor_by(a, s->now + pause_of(s));
}

bool sim_worker_takes(const struct sim *s, struct ar_str worker)
{
	return ar_str_absent(worker) || s->worker.state == AR_WORKER_CONNECTED;
}

void sim_workers_open(struct sim *s)
{
	static const struct ar_workers_vtable vtable = { find, drop };

	s->worker.port = (struct ar_workers){ .v = &vtable };
	s->worker.random = s->seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
	s->worker.state = AR_WORKER_CONNECTED;
	s->worker.is_used = s->seed % EVERY == 0;
	sim_actor_start(s, &s->worker.actor, SIM_NEVER, worker_step);
}

static void created(struct ar_engine_request *r AR_UNUSED)
{
}

/* Again while the store does not take it: one that it took all the same is there already. */
void sim_workers_make(struct sim *s)
{
	static const struct ar_cmd_create_worker_in in = { .name = AR_STR("sim") };
	struct ar_engine_request r;

	for (int tries = 0; s->worker.is_used && tries < 100; tries++) {
		r = (struct ar_engine_request){ .session = AR_STR(SIM_WORKER_KEY),
						.may_create = true,
						.done = created };
		r.input = (struct ar_input){ .kind = AR_IN_COMMAND,
					     .command = { .id = AR_CMD_CREATE_WORKER, .args = &in },
					     .account = AR_STR(SIM_ACCOUNT) };
		ar_engine_write(s->engine, &r);
		sim_settle(s);
		if (r.status == AR_OK || r.err.code == AR_ERR_ID_CONFLICT)
			return;
	}
	if (s->worker.is_used)
		sim_fail(s, "the worker is not created: %s", r.err.msg);
}

void sim_workers_begin(struct sim *s)
{
	if (s->worker.is_used)
		sim_actor_by(&s->worker.actor, s->now + SIM_MS);
}

/* A new process has no connection yet. */
void sim_workers_crashed(struct sim *s)
{
	if (!s->worker.is_used)
		return;
	s->worker.state = AR_WORKER_AWAY;
	sim_actor_by(&s->worker.actor, s->now + (ar_usec)draw(s, 5 * (uint64_t)s->plan.pace) + SIM_MS);
}

/* ---- laws ---- */

struct watch {
	struct sim *sim;
	const struct ar_event *fact;
	bool is_away; /* or drained, as the session found it last */
	bool is_lost;
};

static void broken(const struct watch *w, const char *what)
{
	sim_fail(w->sim, "%s: %.*s", what, AR_STR_ARG(w->fact->event_id));
}

static void worker_changed(struct watch *w)
{
	const struct ar_shape_worker_observed *found =
		((const struct ar_ev_worker_changed *)w->fact->payload)->worker;
	bool was_away = w->is_away;

	if (!w->sim->worker.is_used)
		broken(w, "a session without a worker finds one");
	w->is_away = found->state != AR_WORKER_REACH_CONNECTED || found->draining;
	w->is_lost = found->state == AR_WORKER_REACH_LOST;
	if (!was_away && !w->is_away)
		broken(w, "a worker is back that was not missed");
}

static void task_waiting(struct watch *w)
{
	const struct ar_ev_task_waiting *p = w->fact->payload;

	if (p->wait_for != AR_TASK_WAITING_WAIT_FOR_WORKER)
		return;
	w->sim->counts->worker_waits++;
	if (!w->is_away)
		broken(w, "a task waits for a worker that is there");
}

static void task_lost(struct watch *w)
{
	const struct ar_ev_task_lost *p = w->fact->payload;

	if (!ar_str_is(p->worker->kind, "worker"))
		return;
	w->sim->counts->worker_losses++;
	if (!w->is_lost)
		broken(w, "a task is lost with a worker whose lease has not ended");
}

static void tool_started(struct watch *w)
{
	const struct ar_ev_tool_started *p = w->fact->payload;

	if (w->is_away && p->attempt.set && ar_str_is(p->policy, "allowed"))
		broken(w, "a call begins at a worker that is away");
}

void sim_check_worker(struct sim *s, const struct sim_log *log)
{
	struct watch w = { .sim = s };

	for (size_t i = 0; i < log->count; i++) {
		w.fact = &log->facts[i].e;
		if (w.fact->type == AR_EV_WORKER_CHANGED)
			worker_changed(&w);
		else if (w.fact->type == AR_EV_TASK_WAITING)
			task_waiting(&w);
		else if (w.fact->type == AR_EV_TASK_LOST)
			task_lost(&w);
		else if (w.fact->type == AR_EV_TOOL_STARTED)
			tool_started(&w);
	}
}
