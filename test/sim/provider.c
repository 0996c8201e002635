/* A model that the seed drives: streams in pieces, thinks, calls tools, is cut, times out, is refused, hangs
 * until someone cancels. In calm weather it answers. Two laws are checked where a call begins: its intent is
 * durable, and no request is made twice. */
#include "sim.h"

#define PIECES_MAX 6
#define TOOLS_MAX 3

enum manner {
	ANSWERS,
	HANGS,
	REFUSES,
	BREAKS,
};

struct sim_call {
	struct ar_list node;
	struct sim_actor actor;
	struct sim *sim;
	struct ar_model_call *call;
	enum manner manner;
	unsigned pieces; /* still to come */
	unsigned tools, tools_begun;
	bool is_cancelled;
	struct ar_model_result result;
};

/* ---- how it ends ---- */

static const struct ar_model_result answers = { .outcome = AR_MODEL_COMPLETED,
						.stop_reason = { "stop", 4 },
						.model = { "sim-1-exact", 11 },
						.request_id = { "upstream-1", 10 },
						.has_usage = true,
						.input_tokens = 11,
						.output_tokens = 7,
						.cached_tokens = 3 };

static const struct ar_model_result refusals[] = {
	{ .outcome = AR_MODEL_REJECTED,
	  .category = { "rate_limited", 12 },
	  .message = { "slow down", 9 },
	  .retryable = true,
	  .http = 429,
	  .retry_after_ms = 40 },
	{ .outcome = AR_MODEL_REJECTED,
	  .category = { "overloaded", 10 },
	  .message = { "busy", 4 },
	  .retryable = true,
	  .http = 503 },
	{ .outcome = AR_MODEL_REJECTED,
	  .category = { "invalid_request", 15 },
	  .message = { "no", 2 },
	  .http = 400 },
	{ .outcome = AR_MODEL_UNREACHABLE,
	  .category = { "network", 7 },
	  .message = { "refused", 7 },
	  .retryable = true },
};

static const struct ar_model_result breaks[] = {
	{ .outcome = AR_MODEL_CUT, .category = { "network", 7 }, .message = { "cut", 3 }, .retryable = true },
	{ .outcome = AR_MODEL_TIMEOUT,
	  .category = { "timeout", 7 },
	  .message = { "silence", 7 },
	  .retryable = true },
	{ .outcome = AR_MODEL_FAILED,
	  .category = { "overloaded", 10 },
	  .message = { "in the stream", 13 },
	  .retryable = true },
	{ .outcome = AR_MODEL_GARBLED, .category = { "protocol", 8 }, .message = { "what?", 5 } },
};

static const struct ar_model_result cancelled = { .outcome = AR_MODEL_CANCELLED,
						  .category = { "cancelled", 9 },
						  .message = { "cancelled", 9 } };

static void call_free(struct sim_call *c)
{
	ar_list_del(&c->node);
	ar_list_del(&c->actor.node);
	ar_free(c);
}

static void end(struct sim_call *c)
{
	struct ar_model_call *call = c->call;
	struct ar_model_result r = c->result;

	sim_say(c->sim, "model", "%.*s ends with outcome %d", AR_STR_ARG(call->request->step_id),
		(int)r.outcome);
	call->provider_state = NULL;
	call_free(c);
	call->v->on_done(call, &r);
}

/* ---- what it says ---- */

static struct ar_str words(struct sim *s, struct ar_buf *out)
{
	static const char *const some[] = { "plain ",		"na\xc3\xafve ", "\xe2\x98\x82 ",
					    "\xf0\x9f\x99\x82", "\"quoted\\\" ", "\n" };
	uint64_t n = sim_chance(s, 30) ? 2500 : 1 + sim_below(s, 6);

	while (n-- > 0)
		ar_buf_addz(out, some[sim_below(s, AR_ARRAY_LEN(some))]);
	return ar_buf_str(out);
}

static struct ar_str said_key(struct sim *s, struct ar_str step, int kind, uint32_t index)
{
	return ar_arena_fmt(&s->arena, "%.*s/%d/%u", AR_STR_ARG(step), kind, index);
}

struct ar_str sim_said(struct sim *s, struct ar_str step, int kind, uint32_t index)
{
	const struct sim_said *said = ar_map_get(&s->said, said_key(s, step, kind, index));

	return said ? ar_buf_str(&said->bytes) : AR_STR("");
}

void sim_said_close(struct sim *s)
{
	struct sim_said *said;

	for (size_t i = 0; (said = ar_map_next(&s->said, &i));)
		ar_buf_fini(&said->bytes);
	ar_map_fini(&s->said);
}

static void say(struct sim_call *c, enum ar_output_kind kind, uint32_t index, struct ar_str bytes)
{
	struct ar_str key = said_key(c->sim, c->call->request->step_id, (int)kind, index);
	struct sim_said *said = ar_map_get(&c->sim->said, key);

	if (!said) {
		said = ar_arena_alloc(&c->sim->arena, sizeof(*said));
		said->key = key;
		ar_map_put(&c->sim->said, said->key, said);
	}
	ar_buf_adds(&said->bytes, bytes);
	c->call->v->on_output(c->call, kind, index, bytes);
}

/* One of them is not there. */
static struct ar_str some_tool(struct sim *s)
{
	static const char *const names[] = { "look_up", "run", "run", "watch" };

	return ar_str_from(names[sim_below(s, AR_ARRAY_LEN(names))]);
}

static void say_piece(struct sim_call *c)
{
	struct sim *s = c->sim;
	struct ar_model_call *call = c->call;
	struct ar_buf text = { 0 };
	struct ar_arena a = { 0 };

	if (c->tools_begun < c->tools && sim_chance(s, 500)) {
		call->v->on_tool(call, c->tools_begun, ar_arena_fmt(&a, "call_%u", c->tools_begun),
				 some_tool(s));
		c->tools_begun++;
	}
	if (c->tools_begun > 0 && sim_chance(s, 200))
		say(c, AR_OUT_TOOL_ARGS, (uint32_t)sim_below(s, c->tools_begun), words(s, &text));
	else if (sim_chance(s, 250))
		say(c, AR_OUT_REASONING, 0, words(s, &text));
	else
		say(c, AR_OUT_TEXT, 0, words(s, &text));
	ar_buf_fini(&text);
	ar_arena_fini(&a);
}

/* A model that promised tools makes its calls before it ends. */
static void begin_late_tools(struct sim_call *c)
{
	for (; c->tools_begun < c->tools; c->tools_begun++)
		c->call->v->on_tool(c->call, c->tools_begun, AR_STR("call_late"), some_tool(c->sim));
}

static void call_step(struct sim *s, struct sim_actor *a)
{
	struct sim_call *c = AR_CONTAINER_OF(a, struct sim_call, actor);

	if (c->is_cancelled) {
		end(c);
		return;
	}
	if (c->manner == HANGS && !s->is_calm) {
		sim_actor_by(a, s->now + 300 * SIM_MS);
		return;
	}
	if (c->pieces == 0) {
		begin_late_tools(c);
		end(c);
		return;
	}
	c->pieces--;
	say_piece(c);
	sim_actor_by(a, s->now + (ar_usec)sim_below(s, (uint64_t)s->plan.pace) + 1);
}

/* ---- the port ---- */

static enum manner draw_manner(struct sim *s)
{
	uint64_t n = sim_below(s, 100);

	if (s->is_calm || n < 68)
		return ANSWERS;
	return n < 75 ? HANGS : n < 87 ? REFUSES : BREAKS;
}

static void draw_call(struct sim *s, struct sim_call *c)
{
	c->manner = draw_manner(s);
	c->pieces = (unsigned)sim_below(s, PIECES_MAX);
	c->result = answers;
	if (c->manner == REFUSES) {
		c->pieces = 0;
		c->result = refusals[sim_below(s, AR_ARRAY_LEN(refusals))];
	} else if (c->manner == BREAKS) {
		c->result = breaks[sim_below(s, AR_ARRAY_LEN(breaks))];
	}
	if (c->manner != REFUSES && sim_chance(s, s->is_calm ? 100 : 250))
		c->tools = (unsigned)sim_below(s, TOOLS_MAX) + 1;
}

static void start(struct ar_provider *p, struct ar_model_call *call)
{
	struct sim *s = AR_CONTAINER_OF(p, struct sim, provider);
	struct sim_call *c = ar_new0(sizeof(*c));
	struct ar_str id = sim_keep(s, call->request->model_request_id);

	sim_check_request(s, call->request);
	if (ar_map_get(&s->asked, id))
		sim_fail(s, "model request %.*s is made twice", AR_STR_ARG(id));
	if (ar_map_get(&s->interrupted, call->request->turn_id))
		sim_fail(s, "turn %.*s is interrupted and its model is asked",
			 AR_STR_ARG(call->request->turn_id));
	ar_map_put(&s->asked, id, s);
	s->counts->calls++;
	c->sim = s;
	c->call = call;
	call->provider_state = c;
	draw_call(s, c);
	sim_say(s, "model", "%.*s is asked for turn %.*s", AR_STR_ARG(call->request->step_id),
		AR_STR_ARG(call->request->turn_id));
	ar_list_push(&s->calls, &c->node);
	sim_actor_start(s, &c->actor, s->now + (ar_usec)sim_below(s, (uint64_t)s->plan.pace) + 1, call_step);
}

/* Cancelling may come too late, take a while, or end the call at once. */
static void cancel(struct ar_provider *p, struct ar_model_call *call)
{
	struct sim *s = AR_CONTAINER_OF(p, struct sim, provider);
	struct sim_call *c = call->provider_state;

	sim_say(s, "model", "%.*s is cancelled", AR_STR_ARG(call->request->step_id));
	if (!c || c->is_cancelled)
		return;
	c->is_cancelled = true;
	if (sim_chance(s, 850))
		c->result = cancelled;
	c->actor.at = s->now + (ar_usec)sim_below(s, 5 * SIM_MS);
	if (sim_chance(s, 300))
		end(c);
}

static void provider_close(struct ar_provider *p)
{
	struct sim *s = AR_CONTAINER_OF(p, struct sim, provider);

	while (!ar_list_empty(&s->calls)) {
		struct sim_call *c = AR_CONTAINER_OF(s->calls.next, struct sim_call, node);

		c->result = cancelled;
		end(c);
	}
}

static const struct ar_provider_vtable provider_vtable = { start, cancel, provider_close };

void sim_provider_open(struct sim *s)
{
	static const struct ar_str names[SIM_MODELS] = { { "sim-1", 5 }, { "sim-2", 5 }, { "sim-3", 5 } };

	s->provider = (struct ar_provider){ &provider_vtable, "sim" };
	for (size_t i = 0; i < SIM_MODELS; i++)
		s->slots[i] = (struct ar_provider_slot){ names[i], &s->provider };
}

void sim_provider_drop(struct sim *s)
{
	while (!ar_list_empty(&s->calls))
		call_free(AR_CONTAINER_OF(s->calls.next, struct sim_call, node));
}
