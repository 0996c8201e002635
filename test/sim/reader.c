/* Readers: follow a session, take frames when they like, leave at any moment and come back by their
 * last frame's id. Each is checked frame by frame against what is stored: every fact it wants, in
 * order, once, the same bytes; every byte of output once; ids that never fall. */
#include "sim.h"
#include "describe.h"
#include "base64.h"
#include "identity.h"

#include <string.h>

/* What a reader has of one output of an open step. */
struct heard {
	struct ar_list node;
	uint64_t step;
	enum ar_event_type type; /* of its frames */
	struct ar_str call; /* tool call id, for arguments */
	uint64_t base; /* it came in the middle */
	struct ar_buf bytes;
};

struct sim_reader {
	struct ar_list node;
	struct sim_actor actor;
	struct ar_subscription sub;
	struct sim *sim;
	unsigned number;
	struct ar_str session_key;
	bool is_open, has_frames;
	bool from_now, is_strict, deltas, only_turns;
	uint64_t opened_at; /* stored head when it was opened, for those that begin now */
	uint64_t seen; /* all wanted facts up to here were taken */
	struct ar_cursor at;
	char last_id[2048];
	struct ar_list heard;
};

/* ---- what it wants ---- */

static const enum ar_event_type turn_types[] = { AR_EV_TURN_SUBMITTED, AR_EV_TURN_STARTED,
						 AR_EV_TURN_COMPLETED, AR_EV_TURN_FAILED, AR_EV_MODEL_DELTA };

static bool wants(const struct sim_reader *r, enum ar_event_type type)
{
	if (r->is_strict && ar_event_describe(type)->class == AR_CLASS_EXTENDED)
		return false;
	for (size_t i = 0; i < AR_ARRAY_LEN(turn_types); i++) {
		if (turn_types[i] == type)
			return true;
	}
	return !r->only_turns;
}

static void fail(struct sim_reader *r, const char *what, const struct ar_frame *f)
{
	sim_fail(r->sim, "reader %u of %.*s, after fact %llu: %s: %.*s %.*s", r->number,
		 AR_STR_ARG(r->session_key), (unsigned long long)r->seen, what, AR_STR_ARG(f->id),
		 AR_STR_ARG(ar_str_utf8_prefix(f->json, 300)));
}

/* Nothing it wants may lie between what it has and `until`. */
static void check_no_gap(struct sim_reader *r, const struct ar_frame *f, uint64_t until)
{
	const struct sim_log *log = sim_log_of(r->sim, r->session_key);
	uint64_t from = r->seen;

	if (!log || until > log->count)
		fail(r, "a frame from the future", f);
	if (r->from_now && !r->has_frames)
		from = r->opened_at < until ? r->opened_at : until;
	for (; from < until; from++) {
		if (wants(r, log->facts[from].e.type))
			fail(r, "a fact was left out before", f);
	}
	r->seen = until;
}

/* ---- output ---- */

static struct heard *heard_of(struct sim_reader *r, uint64_t step, enum ar_event_type type,
			      struct ar_str call)
{
	AR_LIST_FOR (it, &r->heard) {
		struct heard *h = AR_CONTAINER_OF(it, struct heard, node);

		if (h->step == step && h->type == type && ar_str_eq(h->call, call))
			return h;
	}
	return NULL;
}

static void heard_free(struct heard *h)
{
	ar_list_del(&h->node);
	ar_buf_fini(&h->bytes);
	ar_free((void *)h->call.p);
	ar_free(h);
}

struct piece {
	struct ar_str bytes;
	uint64_t offset;
};

static struct ar_str bytes_of(struct sim *s, const struct ar_ev_process_output *p)
{
	struct ar_str bytes = p->preview;

	if (ar_str_is(p->encoding, "base64") && !ar_base64_decode(&s->arena, p->preview, &bytes))
		sim_fail(s, "a frame is not base64");
	if ((int64_t)bytes.len != p->length)
		sim_fail(s, "a frame has %zu bytes and says %lld", bytes.len, (long long)p->length);
	return bytes;
}

static struct piece piece_of(struct sim *s, const struct ar_event *e)
{
	const struct ar_ev_model_delta *text = e->payload;
	const struct ar_ev_reasoning_delta *reasoning = e->payload;
	const struct ar_ev_tool_args *args = e->payload;
	const struct ar_ev_process_output *output = e->payload;

	if (e->type == AR_EV_PROCESS_OUTPUT)
		return (struct piece){ bytes_of(s, output), (uint64_t)output->offset };
	if (e->type == AR_EV_MODEL_DELTA)
		return (struct piece){ text->delta, (uint64_t)text->offset.v };
	if (e->type == AR_EV_REASONING_DELTA)
		return (struct piece){ reasoning->delta, (uint64_t)reasoning->offset.v };
	return (struct piece){ args->args_delta, (uint64_t)args->offset.v };
}

static struct ar_str really_said(struct sim *s, const struct ar_event *e)
{
	int kind = e->type == AR_EV_MODEL_DELTA ? AR_OUT_TEXT
		   : e->type == AR_EV_TOOL_ARGS ? AR_OUT_TOOL_ARGS
						: AR_OUT_REASONING;
	uint64_t call = 0;

	if (e->type == AR_EV_PROCESS_OUTPUT)
		return sim_wrote(s, e->ids[AR_SCOPE_PROCESS],
				 ((const struct ar_ev_process_output *)e->payload)->stream);
	if (kind == AR_OUT_TOOL_ARGS)
		ar_id_counter(e->ids[AR_SCOPE_TOOL_CALL], &call);
	return sim_said(s, e->ids[AR_SCOPE_STEP], kind, (uint32_t)(call % AR_TOOL_CALLS_MAX));
}

/* As cursors name it. */
static uint64_t step_of(const struct ar_event *e)
{
	const struct ar_ev_process_output *p = e->payload;
	uint64_t n = 0;

	if (e->type == AR_EV_PROCESS_OUTPUT) {
		ar_id_counter(e->ids[AR_SCOPE_PROCESS], &n);
		return ar_cursor_stream(n, p->stream);
	}
	ar_id_counter(e->ids[AR_SCOPE_STEP], &n);
	return n;
}

static void take_delta(struct sim_reader *r, const struct ar_frame *f, const struct ar_event *e)
{
	struct piece p = piece_of(r->sim, e);
	uint64_t step = step_of(e);
	struct heard *h;

	if (!r->deltas)
		fail(r, "output that was not asked for", f);
	if (!ar_str_eq(p.bytes, ar_str_sub(really_said(r->sim, e), p.offset, p.bytes.len)))
		fail(r, "the model did not say that", f);
	check_no_gap(r, f, f->sequence > r->seen ? f->sequence : r->seen);
	h = heard_of(r, step, e->type, e->ids[AR_SCOPE_TOOL_CALL]);
	if (!h) {
		h = ar_new0(sizeof(*h));
		*h = (struct heard){ .step = step, .type = e->type };
		h->call = (struct ar_str){ ar_str_dup(e->ids[AR_SCOPE_TOOL_CALL]),
					   e->ids[AR_SCOPE_TOOL_CALL].len };
		h->base = r->from_now ? p.offset : 0;
		ar_list_push(&r->heard, &h->node);
	}
	if (p.offset != h->base + h->bytes.len)
		fail(r, p.offset < h->base + h->bytes.len ? "output came twice" : "output is missing before",
		     f);
	ar_buf_adds(&h->bytes, p.bytes);
}

/* Stored content against what was heard. A process that died may have said more than it could store. */
static void check_heard(struct sim_reader *r, const struct ar_frame *f, struct heard *h, struct ar_str ref,
			bool was_lost)
{
	struct ar_str stored = sim_content(r->sim, ref), got;

	if (!h && stored.len > 0 && !r->from_now)
		fail(r, "output was left out before", f);
	if (!h)
		return;
	got = ar_buf_str(&h->bytes);
	if (was_lost && h->base + got.len > stored.len)
		got.len = h->base < stored.len ? stored.len - h->base : 0;
	if (!ar_str_eq(got, ar_str_sub(ar_str_absent(stored) ? AR_STR("") : stored, h->base, SIZE_MAX)))
		fail(r, "the output is not what was stored", f);
	heard_free(h);
}

static void step_ended(struct sim_reader *r, const struct ar_frame *f, const struct ar_event *e)
{
	const struct ar_ev_model_completed *good = e->payload;
	const struct ar_ev_model_failed *bad = e->payload;
	bool is_good = e->type == AR_EV_MODEL_COMPLETED;
	bool was_lost = !is_good && bad->outcome == AR_MODEL_FAILED_OUTCOME_INTERRUPTED;
	uint64_t step = 0;

	ar_id_counter(e->ids[AR_SCOPE_STEP], &step);
	check_heard(r, f, heard_of(r, step, AR_EV_MODEL_DELTA, AR_STR_NONE),
		    is_good ? good->output_ref : bad->output_ref, was_lost);
	if (r->only_turns)
		return;
	check_heard(r, f, heard_of(r, step, AR_EV_REASONING_DELTA, AR_STR_NONE),
		    is_good ? good->reasoning_ref : bad->reasoning_ref, was_lost);
	for (size_t i = 0; is_good && i < good->tool_calls.count; i++)
		check_heard(r, f, heard_of(r, step, AR_EV_TOOL_ARGS, good->tool_calls.at[i].tool_call_id),
			    good->tool_calls.at[i].ref, false);
}

/* Each stream was heard to its end, unless nobody can reach the process any more. */
static void process_ended(struct sim_reader *r, const struct ar_frame *f, const struct ar_event *e)
{
	struct ar_str id = e->ids[AR_SCOPE_PROCESS];
	uint64_t n = 0;

	ar_id_counter(id, &n);
	for (int stream = 1; stream <= AR_PROC_TTY; stream++) {
		struct ar_str all = sim_wrote(r->sim, id, stream);
		struct heard *h = heard_of(r, ar_cursor_stream(n, stream), AR_EV_PROCESS_OUTPUT,
					   e->ids[AR_SCOPE_TOOL_CALL]);

		if (e->type != AR_EV_SNAPSHOT_REPAIRED && !r->from_now && !r->only_turns &&
		    (h ? h->bytes.len : 0) != all.len)
			fail(r, "the output of a process is not whole", f);
		if (h)
			heard_free(h);
	}
}

static bool is_process_end(const struct ar_event *e)
{
	return e->type == AR_EV_PROCESS_COMPLETED || e->type == AR_EV_PROCESS_FAILED ||
	       e->type == AR_EV_PROCESS_TERMINATED ||
	       (e->type == AR_EV_SNAPSHOT_REPAIRED && !ar_str_absent(e->ids[AR_SCOPE_PROCESS]));
}

/* ---- frames ---- */

static void check_id(struct sim_reader *r, const struct ar_frame *f)
{
	struct ar_cursor at;
	struct ar_error err;

	if (ar_cursor_parse(f->id, &at, &err) != AR_OK || f->id.len >= sizeof(r->last_id))
		fail(r, "its id is no cursor", f);
	if (r->has_frames && at.sequence < r->at.sequence)
		fail(r, "the id fell", f);
	for (size_t i = 0; r->has_frames && at.sequence == r->at.sequence && i < r->at.count; i++) {
		if (ar_cursor_pos(&at, r->at.steps[i].step) < r->at.steps[i].pos)
			fail(r, "the id fell within a step", f);
	}
	ar_cursor_fini(&r->at);
	r->at = at;
	memcpy(r->last_id, f->id.p, f->id.len);
	r->last_id[f->id.len] = 0;
}

static void take_fact(struct sim_reader *r, const struct ar_frame *f, const struct ar_event *e)
{
	if (r->has_frames && e->sequence <= r->seen)
		fail(r, "a fact came twice", f);
	check_no_gap(r, f, e->sequence - 1);
	r->seen = e->sequence;
	if (!ar_str_eq(sim_log_of(r->sim, r->session_key)->facts[e->sequence - 1].json, f->json))
		fail(r, "the fact is not what was stored", f);
	if (r->deltas && (e->type == AR_EV_MODEL_COMPLETED || e->type == AR_EV_MODEL_FAILED))
		step_ended(r, f, e);
	if (r->deltas && is_process_end(e))
		process_ended(r, f, e);
}

/* One that has no bytes: it says that all have come. */
static bool is_complete(const struct ar_event *e)
{
	return e->type == AR_EV_TOOL_ARGS && ((const struct ar_ev_tool_args *)e->payload)->complete.v;
}

static void take(struct sim_reader *r, const struct ar_frame *f)
{
	struct ar_arena a = { 0 };
	struct ar_error err = { 0 };
	struct ar_event e;
	struct ar_json v;

	r->sim->counts->frames++;
	sim_say(r->sim, "reader", "%u takes %.*s %s", r->number, AR_STR_ARG(f->id),
		ar_event_describe(f->type)->name);
	if (ar_json_parse(r->sim->json, f->json, &v, &err) != AR_OK ||
	    ar_event_decode(v, &a, &e, &err) != AR_OK || ar_event_validate(&e, &err) != AR_OK)
		fail(r, err.msg, f);
	if (!wants(r, e.type))
		fail(r, "a type that was not asked for", f);
	check_id(r, f);
	if (f->is_delta && e.type != AR_EV_TOOL_PROGRESS && !is_complete(&e))
		take_delta(r, f, &e);
	else if (f->is_delta)
		check_no_gap(r, f, f->sequence > r->seen ? f->sequence : r->seen);
	else
		take_fact(r, f, &e);
	r->has_frames = true;
	ar_arena_fini(&a);
}

/* ---- coming and going ---- */

static void on_opened(struct ar_subscription *sub)
{
	struct sim_reader *r = AR_CONTAINER_OF(sub, struct sim_reader, sub);

	r->opened_at = sim_log_of(r->sim, r->session_key)->count;
}

static void on_ready(struct ar_subscription *sub)
{
	struct sim_reader *r = AR_CONTAINER_OF(sub, struct sim_reader, sub);

	sim_actor_by(&r->actor, r->sim->now + (ar_usec)sim_below(r->sim, 10 * SIM_MS));
}

static void on_ended(struct ar_subscription *sub, const struct ar_error *err)
{
	struct sim_reader *r = AR_CONTAINER_OF(sub, struct sim_reader, sub);

	r->is_open = false;
	if (err->code == AR_ERR_OVERLOADED)
		r->sim->counts->overtaken++;
	else if (err->code != AR_ERR_NOT_OWNER)
		sim_fail(r->sim, "reader %u was ended: %s", r->number, err->msg);
	sim_say(r->sim, "reader", "%u was ended: %s", r->number, err->msg);
	sim_actor_by(&r->actor, r->sim->now + SIM_MS);
}

static const struct ar_subscription_vtable callbacks = { on_opened, on_ready, on_ended };

static void open_reader(struct sim_reader *r)
{
	struct sim *s = r->sim;
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_error err;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", ar_id_root(&s->arena, "sess", r->session_key));
	ar_jw_mstr(&w, "view", r->is_strict ? AR_STR("strict") : AR_STR("extended"));
	ar_jw_mbool(&w, "deltas", r->deltas);
	if (r->only_turns)
		ar_jw_mraw(&w, "types",
			   AR_STR("[\"turn.submitted\",\"turn.started\",\"turn.completed\",\"turn.failed\","
				  "\"model.delta\"]"));
	if (r->has_frames)
		ar_jw_mstr(&w, "after", ar_str_from(r->last_id));
	else if (r->from_now)
		ar_jw_mstr(&w, "after", AR_STR("now"));
	ar_jw_close(&w);
	sim_say(s, "reader", "%u opens %.*s", r->number, AR_STR_ARG(ar_buf_str(&body)));
	r->sub = (struct ar_subscription){ .v = &callbacks };
	r->is_open =
		ar_control_subscribe(s->control, &(struct ar_subscribe_call){ .body = ar_buf_str(&body) },
				     &r->sub, &err) == AR_OK;
	if (!r->is_open && err.code != AR_ERR_NOT_OWNER)
		sim_fail(s, "reader %u was refused: %s", r->number, err.msg);
	ar_buf_fini(&body);
	if (!r->is_open) {
		sim_actor_by(&r->actor, s->now + SIM_MS);
		return;
	}
	s->counts->rejoins += r->has_frames;
}

static void close_reader(struct sim_reader *r)
{
	if (!r->is_open)
		return;
	ar_follow_close(&r->sub);
	r->is_open = false;
	sim_say(r->sim, "reader", "%u leaves", r->number);
}

/* A session with facts, once there is one. */
static bool choose(struct sim_reader *r)
{
	struct sim *s = r->sim;
	const struct sim_submit *t = s->submit_count ? s->submits[sim_below(s, s->submit_count)] : NULL;

	if (!t || ar_str_absent(t->session_key) || !sim_log_of(s, t->session_key))
		return false;
	r->session_key = t->session_key;
	return true;
}

static void reader_step(struct sim *s, struct sim_actor *a)
{
	struct sim_reader *r = AR_CONTAINER_OF(a, struct sim_reader, actor);
	uint64_t most = sim_chance(s, 100) ? 1 : 1 + sim_below(s, 40);

	if (ar_str_absent(r->session_key) && !choose(r)) {
		if (!s->is_calm)
			sim_actor_by(a, s->now + 20 * SIM_MS);
		return;
	}
	if (!r->is_open) {
		open_reader(r);
		return;
	}
	while (most-- > 0) {
		struct ar_frame *f = ar_follow_next(&r->sub);

		if (!f && r->is_open && !s->is_calm && sim_chance(s, 100))
			break; /* leaves although nothing is there */
		if (!f)
			return; /* told when there is more, or ended */
		take(r, f);
		ar_frame_unref(f);
	}
	if (!s->is_calm && sim_chance(s, 60)) {
		close_reader(r);
		sim_actor_by(a, s->now + (ar_usec)sim_below(s, 20 * (uint64_t)s->plan.pace) + 1);
		return;
	}
	sim_actor_by(a, s->now + (ar_usec)sim_below(s, 30 * SIM_MS) + 1);
}

void sim_readers_open(struct sim *s)
{
	for (unsigned i = 1; i <= s->plan.readers; i++) {
		struct sim_reader *r = ar_arena_alloc(&s->arena, sizeof(*r));

		r->sim = s;
		r->number = i;
		r->from_now = sim_chance(s, 200);
		r->is_strict = sim_chance(s, 300);
		r->deltas = sim_chance(s, 800);
		r->only_turns = sim_chance(s, 200);
		ar_list_init(&r->heard);
		ar_list_push(&s->readers, &r->node);
		sim_actor_start(s, &r->actor, (ar_usec)sim_below(s, 60 * (uint64_t)s->plan.pace),
				reader_step);
	}
}

void sim_readers_cut(struct sim *s)
{
	AR_LIST_FOR (it, &s->readers) {
		struct sim_reader *r = AR_CONTAINER_OF(it, struct sim_reader, node);

		close_reader(r);
		sim_actor_by(&r->actor,
			     s->now + (ar_usec)sim_below(s, sim_chance(s, 500) ? 2 * SIM_MS : 50 * SIM_MS));
	}
}

void sim_readers_are_out(struct sim *s, unsigned partition)
{
	AR_LIST_FOR (it, &s->readers) {
		struct sim_reader *r = AR_CONTAINER_OF(it, struct sim_reader, node);

		if (r->is_open && ar_id_partition(r->session_key) == partition)
			sim_fail(s, "reader %u still follows a session that has moved", r->number);
	}
}

void sim_readers_check(struct sim *s)
{
	AR_LIST_FOR (it, &s->readers) {
		struct sim_reader *r = AR_CONTAINER_OF(it, struct sim_reader, node);
		const struct sim_log *log =
			ar_str_absent(r->session_key) ? NULL : sim_log_of(s, r->session_key);

		if (!log || (r->from_now && !r->has_frames))
			continue;
		if (!r->is_open)
			sim_fail(s, "reader %u was left outside", r->number);
		for (uint64_t i = r->seen; i < log->count; i++) {
			if (wants(r, log->facts[i].e.type))
				sim_fail(s, "reader %u of %.*s never got fact %llu", r->number,
					 AR_STR_ARG(r->session_key), (unsigned long long)i + 1);
		}
	}
}

void sim_readers_close(struct sim *s)
{
	AR_LIST_FOR (it, &s->readers) {
		struct sim_reader *r = AR_CONTAINER_OF(it, struct sim_reader, node);

		close_reader(r);
		ar_cursor_fini(&r->at);
		while (!ar_list_empty(&r->heard))
			heard_free(AR_CONTAINER_OF(r->heard.next, struct heard, node));
	}
}
