/* Handlers of hooks that the seed drives: they agree, object, change, add, fail, are late, or are never
 * heard of again because the process died. Two laws are checked where a run begins: its intent is
 * durable, and no run is made twice. */
#include "sim.h"

#define POINT(word) AR_HOOK_STARTED_HOOK_POINT_##word
#define RULE(n, at, failure) \
	{ \
		.name = { "hook-" #n, sizeof("hook-" #n) - 1 }, .point = POINT(at), .timeout_ms = 500, \
		.on_failure = AR_HOOK_FAIL_##failure \
	}
#define HANDLER(n) \
	{ \
		.name = { "hook-" #n, sizeof("hook-" #n) - 1 }, .command = { "true", 4 } \
	}

const struct ar_hook_rule sim_hook_rules[SIM_HOOKS] = {
	RULE(0, USER_PROMPT_SUBMIT, AUTO),
	RULE(1, POST_SAMPLING, AUTO),
	RULE(2, STOP, AUTO),
	RULE(3, POST_TOOL_FAILURE, AUTO),
	RULE(4, SESSION_START, AUTO),
	RULE(5, USER_PROMPT_SUBMIT, CLOSED),
	RULE(6, STOP, OPEN),
	RULE(7, POST_SAMPLING, CLOSED),
	RULE(8, POST_TOOL_FAILURE, OPEN),
	RULE(9, PRE_TOOL_USE, AUTO),
	RULE(10, POST_TOOL_USE, CLOSED),
	RULE(11, SESSION_START, OPEN),
};

const struct ar_hook_handler sim_hook_handlers[SIM_HOOKS] = {
	HANDLER(0), HANDLER(1), HANDLER(2), HANDLER(3), HANDLER(4),  HANDLER(5),
	HANDLER(6), HANDLER(7), HANDLER(8), HANDLER(9), HANDLER(10), HANDLER(11),
};

struct sim_hook {
	struct ar_list node;
	struct sim_actor actor;
	struct sim *sim;
	struct ar_hook_run *run;
	struct ar_hook_result result;
};

static void run_free(struct sim_hook *h)
{
	ar_list_del(&h->node);
	ar_list_del(&h->actor.node);
	ar_free(h);
}

static void end(struct sim_hook *h)
{
	struct ar_hook_run *run = h->run;
	struct ar_hook_result r = h->result;

	sim_say(h->sim, "hook", "%.*s ends with outcome %d", AR_STR_ARG(run->handler->name), (int)r.outcome);
	run->runner_state = NULL;
	run_free(h);
	run->on_done(run, &r);
}

static void run_step(struct sim *s AR_UNUSED, struct sim_actor *a)
{
	end(AR_CONTAINER_OF(a, struct sim_hook, actor));
}

static const struct {
	unsigned weight;
	enum ar_hook_outcome outcome;
	const char *said;
} manners[] = {
	{ 50, AR_HOOK_ANSWERED, "" },
	{ 10, AR_HOOK_ANSWERED,
	  "{\"additionalContext\":[\"one thing\",\"and another\"],\"reason\":\"why not\"}" },
	{ 8, AR_HOOK_ANSWERED, "{\"updatedInput\":\"something else\"}" },
	{ 8, AR_HOOK_ANSWERED, "{\"decision\":\"block\",\"reason\":\"not so\"}" },
	{ 6, AR_HOOK_ANSWERED, "{\"updatedToolOutput\":\"another answer\"}" },
	{ 3, AR_HOOK_ANSWERED, "nonsense" },
	{ 5, AR_HOOK_BLOCKED, "stop right there" },
	{ 5, AR_HOOK_FAILED, NULL },
	{ 5, AR_HOOK_TIMEOUT, NULL },
};

static struct ar_hook_result draw(struct sim *s)
{
	uint64_t n = sim_below(s, 100);
	size_t i = 0;

	while (n >= manners[i].weight)
		n -= manners[i++].weight;
	return (struct ar_hook_result){ .outcome = manners[i].outcome,
					.output = ar_str_from(manners[i].said) };
}

static void check_intent(struct sim *s, const struct ar_hook_run *run)
{
	struct ar_str id = AR_STR_NONE, session_key;
	const struct sim_log *log;
	struct ar_json v;

	if (ar_json_parse(s->json, run->input, &v, NULL) == AR_OK)
		id = sim_keep(s, sim_text(v, "hookRunId"));
	session_key = ar_id_session_key(id);
	log = sim_log_of(s, session_key);
	if (ar_partition_has(&s->away, ar_id_partition(session_key)))
		sim_fail(s, "hook run %.*s is made for a session that has moved", AR_STR_ARG(id));
	if (ar_map_get(&s->asked, id))
		sim_fail(s, "hook run %.*s is made twice", AR_STR_ARG(id));
	ar_map_put(&s->asked, id, s);
	for (size_t i = 0; log && i < log->count; i++) {
		if (log->facts[i].e.type == AR_EV_HOOK_STARTED && ar_str_eq(log->facts[i].e.event_id, id))
			return;
	}
	sim_fail(s, "hook run '%.*s' is made and the intent is not stored: %.*s", AR_STR_ARG(id),
		 AR_STR_ARG(run->input));
}

static void start(struct ar_hook_runner *runner, struct ar_hook_run *run)
{
	struct sim *s = AR_CONTAINER_OF(runner, struct sim, hooks);
	struct sim_hook *h = ar_new0(sizeof(*h));

	check_intent(s, run);
	s->counts->hooks++;
	h->sim = s;
	h->run = run;
	h->result = draw(s);
	run->runner_state = h;
	sim_say(s, "hook", "%.*s is asked", AR_STR_ARG(run->handler->name));
	ar_list_push(&s->hook_runs, &h->node);
	sim_actor_start(s, &h->actor, s->now + (ar_usec)sim_below(s, (uint64_t)s->plan.pace) + 1, run_step);
}

static void cancel(struct ar_hook_runner *runner, struct ar_hook_run *run)
{
	struct sim *s = AR_CONTAINER_OF(runner, struct sim, hooks);
	struct sim_hook *h = run->runner_state;

	if (!h)
		return;
	if (sim_chance(s, 850))
		h->result = (struct ar_hook_result){ .outcome = AR_HOOK_CANCELLED };
	h->actor.at = s->now + (ar_usec)sim_below(s, 5 * SIM_MS);
}

static void close_runner(struct ar_hook_runner *runner)
{
	struct sim *s = AR_CONTAINER_OF(runner, struct sim, hooks);

	while (!ar_list_empty(&s->hook_runs))
		end(AR_CONTAINER_OF(s->hook_runs.next, struct sim_hook, node));
}

static const struct ar_hook_runner_vtable vtable = { start, cancel, close_runner };

void sim_hooks_open(struct sim *s)
{
	s->hooks = (struct ar_hook_runner){ &vtable };
}

void sim_hooks_drop(struct sim *s)
{
	while (!ar_list_empty(&s->hook_runs))
		run_free(AR_CONTAINER_OF(s->hook_runs.next, struct sim_hook, node));
}
