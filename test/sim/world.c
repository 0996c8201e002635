/* Builds a runtime by the seed's plan, runs it actor by actor on virtual time, kills it now and then, and
 * ends it. */
#include "sim.h"

#include <string.h>

#define STEPS_MAX 400000

/* ---- chance ---- */

uint64_t sim_random(struct sim *s)
{
	return ar_store_random(&s->random);
}

uint64_t sim_below(struct sim *s, uint64_t n)
{
	return sim_random(s) % n;
}

bool sim_chance(struct sim *s, unsigned permille)
{
	return sim_below(s, 1000) < permille;
}

static uint64_t one_of(struct sim *s, const uint64_t *choices, size_t count)
{
	return choices[sim_below(s, count)];
}

#define ONE_OF(s, ...) \
	one_of(s, (const uint64_t[]){ __VA_ARGS__ }, \
	       sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static const struct ar_model_entry models[SIM_MODELS] = {
	{ .name = AR_STR("sim-1"),
	  .provider = AR_STR("sim"),
	  .model = AR_STR("sim-1"),
	  .currency = AR_STR("USD"),
	  .price = { 3000000000, 15000000000, 300000000, -1 },
	  .capabilities = AR_CAN_ALL,
	  .has_credentials = true },
	{ .name = AR_STR("sim-2"),
	  .provider = AR_STR("sim"),
	  .model = AR_STR("sim-2-wire"),
	  .price = { -1, -1, -1, -1 },
	  .capabilities = AR_CAN_ALL,
	  .has_credentials = true },
	{ .name = AR_STR("sim-3"),
	  .provider = AR_STR("sim"),
	  .model = AR_STR("sim-3"),
	  .capabilities = AR_CAN_ALL },
};

static void draw_plan(struct sim *s)
{
	bool is_long =
		sim_chance(s,
			   100); /* many turns of one session, so that windows fill and things leave them */

	s->plan = (struct sim_plan){
		.store = { .seed = sim_random(s),
			   .fail_permille = (uint32_t)ONE_OF(s, 0, 0, 10, 60, 200),
			   .delay_polls = (uint32_t)ONE_OF(s, 0, 1, 4),
			   .reorder = sim_chance(s, 700) },
		.move_permille = (uint32_t)ONE_OF(s, 0, 100, 500),
		.hold_permille = (uint32_t)ONE_OF(s, 0, 100, 500),
		.snapshot_every = ONE_OF(s, 1, 7, 20, 1000),
		.session_cache = (size_t)ONE_OF(s, 0, 1, 64),
		.commit_backlog = (size_t)ONE_OF(s, 2, 1000, 1000),
		.ring_bytes = (size_t)ONE_OF(s, 1500, 20000, 1 << 20),
		.clients = (unsigned)ONE_OF(s, 1, 2, 3, 4),
		.readers = (unsigned)ONE_OF(s, 0, 1, 3, 5),
		.actions = is_long ? 70 : (unsigned)ONE_OF(s, 5, 12, 25),
		.crashes = (unsigned)ONE_OF(s, 0, 0, 1, 2, 4),
		.sessions = is_long ? 1 : (unsigned)ONE_OF(s, 1, 2, 4),
		.is_patient = is_long && sim_chance(s, 600),
		.pace = is_long ? 3 * SIM_MS : (ar_usec)ONE_OF(s, 2 * SIM_MS, 50 * SIM_MS, 400 * SIM_MS),
	};
	s->policy = (struct ar_policy){
		.models = models,
		.model_count = (size_t)ONE_OF(s, 1, 1, 2, 3),
		.may_fall_back = sim_chance(s, 800),
		.max_attempts = (int64_t)ONE_OF(s, 1, 2, 4),
		.backoff_ms = (int64_t)ONE_OF(s, 10, 100, 700),
		.max_rounds = (int64_t)ONE_OF(s, 1, 3, 6),
		.tool_ms = 120000,
		.tool_parallel = 8,
		.tool_result_bytes = 65536,
		.process_output_bytes = 1 << 20,
		.process_grace_ms = 100,
		.permission_mode = AR_MODE_BYPASS,
		.max_restarts = (int64_t)ONE_OF(s, 0, 1, 3),
		.queue_max = is_long ? 64 : (int64_t)ONE_OF(s, 2, 8, 64),
		.context_max = (int64_t)ONE_OF(s, 3, 200, 200),
		.context_bytes = (int64_t)ONE_OF(s, 300, 1 << 20, 1 << 20),
		.system_prompt = sim_chance(s, 500) ? AR_STR("Be brief.") : AR_STR_NONE,
		.queue_by_default = sim_chance(s, 700),
		.hooks = sim_hook_rules,
		.hook_count = (size_t)ONE_OF(s, 0, 0, 5, SIM_HOOKS),
		.auto_resume = sim_chance(s, 700),
		.workspace = AR_STR("/sim"),
		.checkpoints = (int64_t)ONE_OF(s, 0, 1, 4, 100),
	};
}

/* ---- actors ---- */

void sim_actor_start(struct sim *s, struct sim_actor *a, ar_usec at,
		     void (*step)(struct sim *, struct sim_actor *))
{
	a->at = at;
	a->step = step;
	ar_list_push(&s->actors, &a->node);
}

void sim_actor_by(struct sim_actor *a, ar_usec at)
{
	if (at < a->at)
		a->at = at;
}

static struct sim_actor *earliest(struct sim *s)
{
	struct sim_actor *first = NULL;

	AR_LIST_FOR (it, &s->actors) {
		struct sim_actor *a = AR_CONTAINER_OF(it, struct sim_actor, node);

		if (a->at != SIM_NEVER && (!first || a->at < first->at))
			first = a;
	}
	return first;
}

/* One thing happens; false when nothing is left. */
static bool run_one(struct sim *s)
{
	struct sim_actor *a = earliest(s);
	ar_usec timer = ar_engine_deadline(s->engine);

	if (!a && timer == 0)
		return false;
	if (++s->steps > STEPS_MAX)
		sim_fail(s, "no rest after %d steps", STEPS_MAX);
	if (timer != 0 && (!a || timer - 1 <= a->at)) {
		s->now = timer - 1 > s->now ? timer - 1 : s->now;
		ar_engine_tick(s->engine);
		return true;
	}
	s->now = a->at > s->now ? a->at : s->now;
	a->at = SIM_NEVER;
	a->step(s, a);
	return true;
}

void sim_settle(struct sim *s)
{
	while (run_one(s))
		;
}

/* ---- life and death ---- */

static void fenced(void *arg)
{
	struct sim *s = arg;

	s->counts->fences++;
	sim_actor_by(&s->fate, s->now);
}

static void boot(struct sim *s)
{
	s->follow = ar_follow_new(&(struct ar_follow_options){
		.store = &s->store.store, .clock = &s->clock, .ring_bytes = s->plan.ring_bytes });
	s->engine = ar_engine_new(&(struct ar_engine_options){ .store = &s->store.store,
							       .follow = s->follow,
							       .providers = s->slots,
							       .provider_count = AR_ARRAY_LEN(s->slots),
							       .toolbox = s->toolbox,
							       .processes = &s->host,
							       .clock = &s->clock,
							       .policy = &s->policy,
							       .hooks = &s->hooks,
							       .handlers = sim_hook_handlers,
							       .handler_count = SIM_HOOKS,
							       .checkpoints = &s->checkpoints,
							       .workers = &s->worker.port,
							       .snapshot_every = s->plan.snapshot_every,
							       .session_cache = s->plan.session_cache,
							       .commit_backlog = s->plan.commit_backlog,
							       .on_fenced = fenced,
							       .arg = s });
	s->control = ar_control_new(s->engine, s->follow, &s->store.store, &s->placement);
	sim_files_serve(s);
	ar_engine_recover(s->engine, NULL);
}

static void bury(struct sim *s)
{
	ar_control_free(s->control);
	ar_engine_free(s->engine);
	ar_follow_free(s->follow);
}

/* Whoever is left of the old process only cleans up: nothing it says counts, nothing it writes is stored. */
static void crash(struct sim *s)
{
	sim_say(s, "fate", "crash");
	s->counts->crashes++;
	s->generation++;
	ar_engine_stop(s->engine);
	sim_provider_drop(s);
	sim_hooks_drop(s);
	sim_tools_drop(s);
	sim_files_crashed(s);
	sim_workers_crashed(s);
	sim_procs_crashed(s);
	sim_readers_cut(s);
	sim_store_crash(s);
	bury(s);
	sim_clients_crashed(s);
	s->away = (struct ar_partition_set){ 0 };
	if (sim_chance(s, 500))
		sim_tools_lose(s);
	boot(s);
}

static ar_usec until_next(struct sim *s)
{
	return (ar_usec)sim_below(s, 60 * (uint64_t)s->plan.pace) + SIM_MS;
}

static void fate_step(struct sim *s, struct sim_actor *a)
{
	bool is_fenced = sim_memory(s)->stored_epoch != s->store.memory->epoch;

	if (is_fenced || (s->crashes_left > 0 && sim_chance(s, 700))) {
		s->crashes_left -= s->crashes_left > 0;
		crash(s);
	} else if (s->crashes_left > 0 && sim_chance(s, 300)) {
		sim_say(s, "fate", "another process takes the store");
		ar_store_memory_fence(s->store.memory);
	} else if (s->crashes_left == 0 && sim_clients_are_done(s)) {
		sim_say(s, "fate", "calm");
		s->is_calm = true;
		sim_workers_begin(s);
		return;
	}
	sim_actor_by(a, s->now + until_next(s));
}

void sim_begin(struct sim *s, uint64_t seed, struct sim_counts *counts)
{
	s->seed = seed;
	s->random = seed * UINT64_C(0x9e3779b97f4a7c15);
	s->counts = counts;
	ar_list_init(&s->actors);
	ar_list_init(&s->calls);
	ar_list_init(&s->hook_runs);
	ar_list_init(&s->readers);
	ar_list_init(&s->clients);
	s->json = ar_json_parser_new();
	s->member_json = ar_json_parser_new();
	draw_plan(s);
	s->crashes_left = s->plan.crashes;
	sim_ports_open(s);
	s->policy.runtime_id = ar_str_from(s->store.store.runtime_id);
	sim_provider_open(s);
	sim_hooks_open(s);
	sim_tools_open(s);
	sim_procs_open(s);
	sim_files_open(s);
	sim_workers_open(s);
	sim_mover_open(s);
	boot(s);
	sim_files_make(s);
	sim_clients_open(s);
	sim_readers_open(s);
	sim_actor_start(s, &s->fate, until_next(s), fate_step);
	sim_workers_begin(s);
}

/* The orderly end: as the host does it. */
void sim_end(struct sim *s)
{
	ar_engine_stop(s->engine);
	sim_readers_close(s);
	s->provider.v->close(&s->provider);
	s->hooks.v->close(&s->hooks);
	s->checkpoints.v->close(&s->checkpoints);
	ar_toolbox_close(s->toolbox);
	s->host.v->close(&s->host);
	ar_store_close(&s->store.store);
	bury(s);
	sim_clients_close(s);
	sim_logs_close(s);
	sim_said_close(s);
	sim_procs_close(s);
	ar_map_fini(&s->asked);
	ar_map_fini(&s->interrupted);
	ar_map_fini(&s->saved);
	ar_free(s->submits);
	ar_json_parser_free(s->json);
	ar_json_parser_free(s->member_json);
	ar_buf_fini(&s->trace);
	ar_arena_fini(&s->arena);
}
