/* One model call: load the messages it needs, stream the answer, and bring its end back as an input.
 *
 *   PLANNED -> WAITING -> LOADING -> CALLING -> ENDED
 *
 * PLANNED: the decision wants it and its facts are being stored. WAITING: all places for model calls are
 * taken (turnstile.c). LOADING: contents of the conversation come from the store. CALLING: the provider
 * streams. ENDED: the end is in the inbox. A cancel before CALLING ends the step without a call.
 *
 * Output goes two ways while it arrives: to readers as frames, at once, and to the store in chunks, at most
 * a quarter of a second late. The chunks are what a crash leaves: the next start finds the step open,
 * records it as failed with the bytes that were saved, and a new attempt begins. When the step ends, its
 * final content is part of the decision and the chunks are deleted in the same transaction.
 *
 * Everything that the provider sent passes the redaction of secrets before a reader or the store sees it
 * (funnel.c); the last bytes are held back while they could be the beginning of a secret.
 *
 * The end must not be lost while the store is away: it is delivered again until it is decided (delivery.c).
 * The step lives until then. Owner: the loop thread. */
#include "engine_priv.h"
#include "fault.h"
#include "funnel.h"
#include "identity.h"
#include "request/delivery.h"
#include "request/messages.h"
#include "trace/trace.h"

#define CHUNK_BYTES 8192
#define CHUNK_AGE 250000 /* microseconds that arrived bytes may stay in memory only */
#define CHUNK_MAX 65536

enum step_state {
	STEP_PLANNED = 1,
	STEP_WAITING, /* for a place among the calls under way */
	STEP_LOADING,
	STEP_CALLING,
	STEP_ENDED,
};

struct ar_live_step {
	struct ar_list node; /* live's steps */
	struct ar_live *live;
	struct ar_arena arena;
	enum step_state state;
	struct ar_ticket ticket;
	struct ar_funnel funnel; /* everything that the model says passes it */
	struct ar_output output;
	struct ar_str id;
	bool is_transcript; /* the messages are rendered as one text */
	bool is_cancelled;
	bool is_detached; /* readers and cancels do not find it any more */
	bool is_over; /* its end was delivered; freed when no operation is in flight */
	size_t busy; /* store operations in flight */
	struct ar_messages messages;
	struct ar_store_blobs_get blobs; /* its result is what the messages point into, */
	struct ar_arena texts; /* or texts made from it: both until the provider has them */
	size_t messages_bytes; /* of both, */
	size_t expected; /* and of what is not here yet: nothing while the step waits */
	struct ar_provider *provider; /* who is asked */
	struct ar_model_request request;
	struct ar_model_call call;
	struct ar_tool_use *tools; /* AR_TOOL_CALLS_MAX of them in the arena, from the first one on */
	size_t tool_count;
	struct ar_store_chunk chunk;
	struct ar_buf chunk_bytes;
	bool is_saving;
	uint64_t saved; /* bytes that are in the store */
	ar_usec saved_at;
	struct ar_step_output result;
	struct ar_model_result end;
	struct ar_delivery ended;
};

/* What is asked for and not here yet, for the memory watch. */
static void expect(struct ar_live_step *s, size_t bytes)
{
	s->live->engine->expected += bytes - s->expected;
	s->expected = bytes;
}

static void count(struct ar_live_step *s, size_t by)
{
	struct ar_engine *e = s->live->engine;

	e->counts.steps += by;
	e->counts.calls += by;
	e->load[s->live->partition].steps += (unsigned)by;
}

static void step_free(struct ar_live_step *s)
{
	expect(s, 0);
	ar_turnstile_leave(&s->live->engine->turnstile, &s->ticket);
	ar_store_op_fini(&s->blobs.op);
	ar_store_op_fini(&s->chunk.op);
	ar_buf_fini(&s->chunk_bytes);
	ar_funnel_fini(&s->funnel);
	ar_output_fini(&s->output);
	ar_arena_fini(&s->texts);
	ar_arena_fini(&s->arena);
	ar_free(s);
}

static void detach(struct ar_live_step *s)
{
	if (s->is_detached)
		return;
	s->is_detached = true;
	ar_list_del(&s->node);
	if (s->state != STEP_WAITING)
		count(s, (size_t)-1);
	ar_follow_output_close(s->live->engine->o.follow, &s->output);
}

/* ---- the end ---- */

static void over(struct ar_live_step *s)
{
	detach(s); /* here when the turn was settled without it */
	s->is_over = true;
	if (s->busy == 0)
		step_free(s);
}

static void end_delivered(struct ar_delivery *d)
{
	over(AR_CONTAINER_OF(d, struct ar_live_step, ended));
}

/* As it goes to the session: the provider's memory ends with its callback, and secrets stay out. */
static struct ar_model_result end_of(struct ar_live_step *s, const struct ar_model_result *r)
{
	struct ar_funnel *f = &s->funnel;
	struct ar_arena *a = &s->arena;
	struct ar_model_result end = *r;

	end.category = ar_funnel_text(f, r->category, a);
	end.message = ar_funnel_text(f, r->message, a);
	end.stop_reason = ar_funnel_text(f, r->stop_reason, a);
	end.model = ar_funnel_text(f, r->model, a);
	end.request_id = ar_funnel_id(f, r->request_id, a);
	end.payload = ar_str_empty(r->payload) ? AR_STR_NONE : ar_funnel_text(f, r->payload, a);
	end.echo = ar_str_empty(r->echo) ? AR_STR_NONE : ar_funnel_id(f, r->echo, a);
	return end;
}

/* What was held back as the possible beginning of a secret turned out to be none, or was one. */
static void take_held(struct ar_live_step *s)
{
	struct ar_funnel_piece held;
	uint64_t from = s->output.pos;

	while (ar_funnel_next_held(&s->funnel, &held))
		ar_output_add(&s->output, held.kind, held.index, held.bytes);
	if (s->output.pos > from && !s->is_detached)
		ar_follow_output_grew(s->live->engine->o.follow, &s->output, from);
}

static void step_end(struct ar_live_step *s, const struct ar_model_result *r)
{
	struct ar_live *l = s->live;

	if (l->engine->is_stopping)
		return; /* the next start finds the step open and says so */
	AR_FAULT("engine.step_end");
	s->state = STEP_ENDED;
	ar_turnstile_leave(&l->engine->turnstile, &s->ticket);
	take_held(s);
	ar_step_output_of(&s->output, &s->arena, &s->result);
	s->result.step = s->id;
	for (size_t i = 0; i < s->tool_count; i++)
		s->tools[i].args = ar_step_tool_args(&s->output, &s->arena, (uint32_t)i);
	s->result.tools = s->tools;
	s->result.tool_count = s->tool_count;
	s->end = end_of(s, r);
	s->ended.over = end_delivered;
	s->ended.request.input = (struct ar_input){ .kind = AR_IN_MODEL_DONE,
						    .model_done = { .output = &s->result, .end = &s->end } };
	s->result.masked = ar_funnel_masked(&s->funnel.counts, &s->arena);
	ar_delivery_send(l, &s->ended);
}

/* ---- what arrives ---- */

static void on_chunk(struct ar_store_op *op);

static void save_some(struct ar_live_step *s)
{
	struct ar_engine *e = s->live->engine;
	struct ar_output_piece piece;

	if (s->is_saving || !ar_output_piece_at(&s->output, s->saved, CHUNK_MAX, &piece))
		return;
	ar_buf_clear(&s->chunk_bytes);
	ar_buf_adds(&s->chunk_bytes, piece.bytes);
	s->chunk = (struct ar_store_chunk){ .op = { .kind = AR_STORE_CHUNK, .done = on_chunk },
					    .session = ar_live_session_key(s->live),
					    .step = s->id,
					    .pos = piece.pos,
					    .kind = piece.segment->kind,
					    .index = piece.segment->index,
					    .bytes = ar_buf_str(&s->chunk_bytes) };
	s->is_saving = true;
	s->busy++;
	s->live->busy++;
	s->saved = piece.pos + piece.len;
	s->saved_at = e->o.clock->mono(e->o.clock);
	ar_store_submit(e->o.store, &s->chunk.op);
}

static bool is_worth_saving(const struct ar_live_step *s)
{
	struct ar_clock *clock = s->live->engine->o.clock;

	return s->output.pos - s->saved >= CHUNK_BYTES ||
	       (s->output.pos > s->saved && clock->mono(clock) - s->saved_at >= CHUNK_AGE);
}

/* A chunk that could not be written is no loss yet: the whole output is in memory until
 * the step's end is durable. */
static void on_chunk(struct ar_store_op *op)
{
	struct ar_live_step *s = AR_CONTAINER_OF(op, struct ar_live_step, chunk.op);
	struct ar_live *l = s->live;

	s->busy--;
	l->busy--;
	s->is_saving = false;
	ar_store_op_fini(op);
	if (s->is_over && s->busy == 0)
		step_free(s);
	else if (s->state == STEP_CALLING && !l->is_released && is_worth_saving(s))
		save_some(s);
	if (l->is_released)
		ar_live_pump(l);
}

static void on_tool(struct ar_model_call *c, uint32_t index, struct ar_str id, struct ar_str name)
{
	struct ar_live_step *s = AR_CONTAINER_OF(c, struct ar_live_step, call);

	if (index != s->tool_count || index >= AR_TOOL_CALLS_MAX)
		return;
	if (!s->tools)
		s->tools = ar_arena_room(&s->arena, AR_TOOL_CALLS_MAX * sizeof(*s->tools));
	s->tools[s->tool_count++] =
		(struct ar_tool_use){ .id = ar_funnel_text(&s->funnel, id, &s->arena),
				      .name = ar_funnel_text(&s->funnel, name, &s->arena) };
}

static void take_output(struct ar_live_step *s, enum ar_output_kind kind, uint32_t index, struct ar_str bytes)
{
	uint64_t from = s->output.pos;

	ar_live_reset_idle(s->live, s->output.ids[AR_SCOPE_TURN]);
	bytes = ar_funnel_feed(&s->funnel, (uint8_t)kind, index, bytes);
	if (ar_str_empty(bytes))
		return;
	ar_output_add(&s->output, (uint8_t)kind, index, bytes);
	AR_FAULT("engine.output");
	ar_follow_output_grew(s->live->engine->o.follow, &s->output, from);
	if (is_worth_saving(s))
		save_some(s);
}

static void on_output(struct ar_model_call *c, enum ar_output_kind kind, uint32_t index, struct ar_str bytes)
{
	struct ar_live_step *s = AR_CONTAINER_OF(c, struct ar_live_step, call);
	struct ar_mark_before before = ar_mark_enter(s->live);

	if (kind != AR_OUT_TOOL_ARGS || index < s->tool_count)
		take_output(s, kind, index, bytes);
	ar_mark_leave(s->live->engine, before);
}

static void on_done(struct ar_model_call *c, const struct ar_model_result *r)
{
	struct ar_live_step *s = AR_CONTAINER_OF(c, struct ar_live_step, call);
	struct ar_engine *e = s->live->engine;
	struct ar_mark_before before = ar_mark_enter(s->live);

	step_end(s, r);
	ar_mark_leave(e, before);
}

static const struct ar_model_call_vtable callbacks = { on_tool, on_output, on_done };

/* ---- the beginning ---- */

/* The provider has written them into its request: a whole conversation need not be here
 * twice while the model answers. */
static void forget_messages(struct ar_live_step *s)
{
	expect(s, 0);
	s->request.messages = NULL;
	s->request.count = 0;
	ar_store_op_fini(&s->blobs.op);
	ar_arena_fini(&s->texts);
}

static void end_uncalled(struct ar_live_step *s)
{
	step_end(s, &(struct ar_model_result){ .outcome = AR_MODEL_CANCELLED,
					       .category = AR_STR("cancelled"),
					       .message = AR_STR("interrupted before the call") });
}

static void on_messages(struct ar_store_op *op)
{
	struct ar_live_step *s = AR_CONTAINER_OF(op, struct ar_live_step, blobs.op);
	struct ar_mark_before before;

	s->busy--;
	s->live->busy--;
	if (s->live->engine->is_stopping)
		return;
	if (s->is_cancelled) {
		end_uncalled(s);
		return;
	}
	if (op->status != AR_OK ||
	    !ar_messages_fill(&s->messages, s->blobs.bytes, &s->texts, s->live->engine->json)) {
		step_end(s, &(struct ar_model_result){
				    .outcome = AR_MODEL_GARBLED,
				    .category = AR_STR("content_unavailable"),
				    .message = AR_STR("part of the conversation cannot be read"),
				    .retryable = op->status != AR_OK && op->status != AR_E_CORRUPT });
		return;
	}
	if (s->is_transcript)
		ar_messages_to_transcript(&s->messages, &s->texts, s->live->engine->json);
	s->request.messages = s->messages.list;
	s->request.count = s->messages.count;
	s->state = STEP_CALLING;
	before = ar_mark_enter(s->live);
	AR_FAULT("engine.before_call");
	s->provider->v->start(s->provider, &s->call);
	ar_mark_leave(s->live->engine, before);
	forget_messages(s);
}

/* A call is only decided for an entry of the policy, and each of these has one. */
static struct ar_provider *provider_of(const struct ar_engine_options *o, struct ar_str route)
{
	size_t i = 0;

	while (i < o->provider_count && !ar_str_eq(o->providers[i].name, route))
		i++;
	AR_ASSERT(i < o->provider_count);
	return o->providers[i].provider;
}

static struct ar_live_step *step_new(struct ar_live *l, const struct ar_effect_model_call *effect)
{
	struct ar_live_step *s = ar_new0(sizeof(*s));
	struct ar_arena *a = &s->arena;

	s->live = l;
	s->state = STEP_PLANNED;
	s->funnel.redactor = l->engine->o.redactor;
	s->provider = provider_of(&l->engine->o, effect->choice.entry->name);
	s->id = ar_arena_str(a, effect->step);
	s->is_transcript = effect->is_transcript;
	s->output.session = ar_live_session_key(l);
	s->output.ids[AR_SCOPE_THREAD] = ar_arena_str(a, effect->thread);
	s->output.ids[AR_SCOPE_TURN] = ar_arena_str(a, effect->turn);
	s->output.ids[AR_SCOPE_STEP] = s->id;
	s->output.ids[AR_SCOPE_MODEL_REQUEST] = ar_arena_str(a, effect->model_request);
	ar_id_counter(s->id, &s->output.step);
	s->saved_at = l->engine->o.clock->mono(l->engine->o.clock);
	s->request = (struct ar_model_request){ .model = ar_arena_str(a, effect->choice.model),
						.session_id = ar_arena_str(a, l->state.id),
						.turn_id = s->output.ids[AR_SCOPE_TURN],
						.step_id = s->id,
						.model_request_id = s->output.ids[AR_SCOPE_MODEL_REQUEST],
						.options = ar_arena_str(a, effect->options) };
	if (l->engine->o.policy->is_traced)
		s->request.trace_parent =
			ar_trace_parent(&l->state, a, s->request.turn_id, s->request.model_request_id);
	s->call = (struct ar_model_call){ .v = &callbacks, .request = &s->request };
	return s;
}

static void offer_tools(struct ar_live_step *s, const struct ar_effect_model_call *effect)
{
	struct ar_tool *specs = ar_arena_alloc(&s->arena, (effect->tool_count + 1) * sizeof(*specs));

	for (size_t i = 0; i < effect->tool_count; i++)
		specs[i] = (struct ar_tool){ .name = ar_arena_str(&s->arena, effect->tools[i]->name),
					     .description =
						     ar_arena_str(&s->arena, effect->tools[i]->description),
					     .schema = ar_arena_str(&s->arena, effect->tools[i]->schema) };
	s->request.tools = specs;
	s->request.tool_count = effect->tool_count;
}

static size_t bytes_of(const struct ar_effect_model_call *effect)
{
	size_t bytes = 0;

	for (size_t i = 0; i < effect->message_count; i++)
		bytes += (size_t)effect->messages[i].bytes;
	return bytes;
}

void ar_step_plan(struct ar_live *l, const struct ar_effect_model_call *effect)
{
	struct ar_live_step *s = step_new(l, effect);

	ar_list_push(&l->steps, &s->node);
	count(s, 1);
	ar_follow_output_open(l->engine->o.follow, &s->output, l->state.head);
	offer_tools(s, effect);
	ar_messages_plan(&s->messages, effect, &s->arena);
	s->messages_bytes = bytes_of(effect);
	s->blobs = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_messages },
						.hashes = s->messages.hashes,
						.count = s->messages.hash_count };
}

static void let_in(struct ar_ticket *ticket)
{
	struct ar_live_step *s = AR_CONTAINER_OF(ticket, struct ar_live_step, ticket);

	count(s, 1);
	s->state = STEP_LOADING;
	s->busy++;
	s->live->busy++;
	expect(s, s->messages_bytes);
	ar_live_reset_idle(s->live, s->output.ids[AR_SCOPE_TURN]);
	ar_store_submit(s->live->engine->o.store, &s->blobs.op);
}

/* One that waits is no call yet: a handover and a drain do not wait for it. */
void ar_steps_begin(struct ar_live *l)
{
	AR_LIST_FOR (it, &l->steps) {
		struct ar_live_step *s = AR_CONTAINER_OF(it, struct ar_live_step, node);

		if (s->state != STEP_PLANNED)
			continue;
		count(s, (size_t)-1);
		s->state = STEP_WAITING;
		s->ticket.go = let_in;
		ar_turnstile_ask(&l->engine->turnstile, &s->ticket, ar_session_tenant(&l->state),
				 ar_live_session_key(l));
	}
}

bool ar_steps_wait(const struct ar_live *l, struct ar_str turn)
{
	AR_LIST_FOR (it, &l->steps) {
		const struct ar_live_step *s = AR_CONTAINER_OF(it, struct ar_live_step, node);

		if (s->state == STEP_WAITING && ar_str_eq(s->output.ids[AR_SCOPE_TURN], turn))
			return true;
	}
	return false;
}

/* A call under way is cancelled and a fetch waited for: their ends come to the inbox, where a
 * released session refuses everything. One that has ended is there already, or waits for its
 * timer, which is cancelled. */
void ar_steps_release(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->steps) {
		struct ar_live_step *s = AR_CONTAINER_OF(it, struct ar_live_step, node);

		s->is_cancelled = true;
		if (s->state == STEP_PLANNED || s->state == STEP_WAITING)
			over(s);
		else if (s->state == STEP_CALLING)
			s->provider->v->cancel(s->provider, &s->call);
	}
}

static struct ar_live_step *step_find(struct ar_live *l, struct ar_str id)
{
	AR_LIST_FOR (it, &l->steps) {
		struct ar_live_step *s = AR_CONTAINER_OF(it, struct ar_live_step, node);

		if (ar_str_eq(s->id, id))
			return s;
	}
	return NULL;
}

void ar_step_cancel(struct ar_live *l, struct ar_str id)
{
	struct ar_live_step *s = step_find(l, id);

	if (!s)
		return;
	s->is_cancelled = true;
	if (s->state == STEP_CALLING) {
		s->provider->v->cancel(s->provider, &s->call);
	} else if (s->state == STEP_WAITING) {
		count(s, 1);
		end_uncalled(s);
	}
}

bool ar_step_may_have_chunks(struct ar_live *l, struct ar_str id)
{
	const struct ar_live_step *s = step_find(l, id);

	return !s || s->saved > 0;
}

void ar_step_close(struct ar_live *l, struct ar_str id)
{
	struct ar_live_step *s = step_find(l, id);

	if (s && s->state == STEP_ENDED)
		detach(s);
}

void ar_steps_drop(struct ar_live *l)
{
	while (!ar_list_empty(&l->steps)) {
		struct ar_live_step *s = AR_CONTAINER_OF(l->steps.next, struct ar_live_step, node);

		detach(s);
		step_free(s);
	}
}
