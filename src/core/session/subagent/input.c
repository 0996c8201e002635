/* Input to a child: send_subagent_input, resume_subagent, and the start of children that waited for a place.
 * Pure. */
#include "people.h"
#include "subagent/subagents.h"

/* ---- places ---- */

/* One that only waits for its own children leaves its place to them. */
static bool waits_for_children(const struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *call = turn->calls.at[i];

		if (call->stage == AR_CALL_RUNNING && call->waits.count > 0)
			return true;
	}
	return false;
}

/* NULL: it is no child's, or that of one that is closed. Asked only of threads that have something to do,
 * because it looks for the child. */
static const struct ar_shape_subagent_record *open_child(const struct ar_session *s,
							 const struct ar_thread *t)
{
	const struct ar_shape_subagent_record *r = ar_session_subagent_in(s, t->id);

	return r && !ar_subagent_is_closed(r) ? r : NULL;
}

static bool has_place(const struct ar_decision *d)
{
	const struct ar_session *s = d->session;
	int64_t running = 0;

	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];
		const struct ar_turn *turn = t->pack ? NULL : ar_thread_active(t);

		running += turn && !waits_for_children(turn) && open_child(s, t);
	}
	return running < d->input->policy->subagents_running;
}

static struct ar_thread *next_waiting(const struct ar_session *s)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		struct ar_thread *t = s->threads.at[i];
		const struct ar_shape_subagent_record *r;

		if (t->pack || !ar_str_absent(t->active_turn) || t->queue.count == 0)
			continue;
		r = open_child(s, t);
		if (r && !ar_subagent_is_closing(r))
			return t;
	}
	return NULL;
}

void ar_subagents_start_waiting(struct ar_decision *d)
{
	struct ar_thread *t;

	while (d->fault == AR_OK && d->session->subagents.count > 0 && has_place(d)) {
		t = next_waiting(d->session);
		if (!t)
			return;
		ar_decide_next(d, t);
	}
}

/* ---- one more turn ---- */

enum ar_status ar_subagent_check_input(struct ar_decision *d, const struct ar_shape_subagent_record *r,
				       const struct ar_subagent_input *in, struct ar_new_turn *ret,
				       struct ar_error *err)
{
	struct ar_cmd_submit_turn_in *turn = ar_arena_alloc(d->arena, sizeof(*turn));
	enum ar_status rc;

	if (ar_subagent_is_closed(r) || ar_subagent_is_closing(r))
		return ar_refuse(err, AR_ERR_SUBAGENT_CLOSED, "subagent %.*s is closed",
				 AR_STR_ARG(r->subagent_id));
	*turn = (struct ar_cmd_submit_turn_in){ .session_id = d->session->id,
						.thread_id = r->child_thread_id,
						.turn_id = in->turn,
						.text = in->text,
						.input = in->input,
						.source = AR_STR(AR_SOURCE_SUBAGENT),
						.busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_QUEUE,
						.options = r->options };
	rc = ar_decide_check_turn(d, turn, ret, err);
	if (rc == AR_E_REFUSED && err->code == AR_ERR_OVERLOADED)
		err->code = AR_ERR_BUSY_REJECTED;
	return rc;
}

/* Those who gave the work to its parent, or the turn before it. */
static struct ar_texts people_of(struct ar_decision *d, const struct ar_shape_subagent_record *r,
				 const struct ar_thread *t)
{
	const struct ar_turn *before = t->turns.count ? t->turns.at[t->turns.count - 1] : NULL;
	struct ar_thread *parent;

	if (!before)
		before = ar_session_turn(d->session, r->parent_turn_id, &parent);
	return ar_people_with_caller(d, before && before->people.at ? before->people : ar_people_unknown());
}

static void say_input(struct ar_decision *d, const struct ar_shape_subagent_record *r,
		      const struct ar_new_turn *n, bool is_structured)
{
	const struct ar_shape_party from = {
		.kind = d->input->kind == AR_IN_COMMAND ? AR_STR("caller") : AR_STR("agent"),
		.id = d->input->kind == AR_IN_COMMAND ? d->input->account : r->parent_turn_id
	};
	struct ar_ids ids = ar_ids_subagent(r);

	ar_decide_emit(d, AR_EV_SUBAGENT_INPUT, &ids,
		       &(struct ar_ev_subagent_input){
			       .input_ref = ar_decide_ref(d, n->input.parts),
			       .input_kind = is_structured ? AR_SUBAGENT_INPUT_INPUT_KIND_STRUCTURED
							   : AR_SUBAGENT_INPUT_INPUT_KIND_TEXT,
			       .from = &from,
			       .child_turn_id = n->in->turn_id });
}

struct ar_turn *ar_subagent_send(struct ar_decision *d, const struct ar_shape_subagent_record *r,
				 const struct ar_new_turn *n, bool is_structured)
{
	struct ar_new_turn own = *n;
	struct ar_thread *t = n->thread;
	struct ar_turn *turn;

	own.is_queued = !ar_str_absent(t->active_turn) || t->queue.count > 0 || !has_place(d);
	say_input(d, r, n, is_structured);
	turn = ar_decide_submit(d, t, &own, NULL, people_of(d, r, t));
	if (d->fault != AR_OK)
		return turn;
	if (own.is_queued)
		ar_decide_enqueue(d, t, turn);
	else
		ar_decide_start(d, turn);
	return turn;
}

/* ---- commands ---- */

/* A text, parts of an input, or any other JSON, which the child reads as text. */
static struct ar_subagent_input read_input(struct ar_decision *d, struct ar_str json)
{
	struct ar_subagent_input in = { 0 };
	struct ar_json v;

	if (ar_str_absent(json) || ar_json_parse(d->json, json, &v, NULL) != AR_OK)
		return in;
	if (ar_json_type(v) == AR_JSON_STR) {
		ar_json_str(v, &in.text);
		in.text = ar_arena_str(d->arena, in.text);
		return in;
	}
	if (ar_json_type(v) == AR_JSON_ARRAY) {
		for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
			in.is_structured |= ar_json_type(ar_json_get(it.value, "type")) != AR_JSON_STR;
		}
		if (!in.is_structured) {
			in.input = json;
			return in;
		}
	}
	in.is_structured = true;
	in.text = json;
	return in;
}

enum ar_status ar_decide_send_subagent_input(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_send_subagent_input_in *in = d->input->command.args;
	struct ar_subagent_input input = read_input(d, in->input);
	const struct ar_shape_subagent_record *r;
	struct ar_new_turn n;
	struct ar_turn *turn;

	input.turn = in->turn_id;
	if (ar_subagent_need(d, in->subagent_id, &r, err) != AR_OK ||
	    ar_subagent_check_input(d, r, &input, &n, err) != AR_OK ||
	    ar_subagent_check_again(d, r, err) != AR_OK)
		return AR_E_REFUSED;
	turn = ar_subagent_send(d, r, &n, input.is_structured);
	if (!turn)
		return AR_OK;
	ar_decide_reply(d, AR_CMD_SEND_SUBAGENT_INPUT,
			&(struct ar_cmd_send_subagent_input_out){
				.subagent_id = in->subagent_id,
				.child_turn_id = turn->id,
				.status = turn->start.set ? AR_ADMISSION_ACCEPTED : AR_ADMISSION_QUEUED });
	return AR_OK;
}

/* What a child is told that goes on without new input. */
#define CONTINUE "Continue where you stopped."

static bool can_go_on(const struct ar_shape_subagent_record *r)
{
	return ar_str_is(r->status, "failed") || ar_str_is(r->status, "cancelled");
}

static void say_resumed(struct ar_decision *d, const struct ar_shape_subagent_record *r, struct ar_str why)
{
	struct ar_ids ids = ar_ids_subagent(r);

	ar_decide_emit(d, AR_EV_SUBAGENT_STATUS, &ids,
		       &(struct ar_ev_subagent_status){
			       .status = AR_SUBAGENT_STATUS_STATUS_RUNNING,
			       .reason = AR_STR(AR_REASON_RESUMED),
			       .last_message_ref = r->last_message_ref,
			       .status_detail =
				       ar_str_absent(why) ? AR_STR_NONE : ar_str_utf8_prefix(why, 256),
			       .actor = d->input->account });
}

enum ar_status ar_decide_resume_subagent(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_resume_subagent_in *in = d->input->command.args;
	struct ar_subagent_input input = read_input(d, in->input);
	const struct ar_shape_subagent_record *r;
	struct ar_new_turn n = { 0 };
	struct ar_thread *t;
	struct ar_turn *turn;

	if (ar_subagent_need(d, in->subagent_id, &r, err) != AR_OK)
		return AR_E_REFUSED;
	t = ar_session_thread(d->session, r->child_thread_id);
	if (!t)
		return ar_refuse(err, AR_ERR_UNRECOVERABLE, "the thread of subagent %.*s is not kept",
				 AR_STR_ARG(r->subagent_id));
	turn = ar_thread_active(t);
	if (ar_str_absent(in->input) && can_go_on(r))
		input.text = AR_STR(CONTINUE);
	if (ar_subagent_is_closed(r) || !ar_str_absent(input.text) || !ar_str_absent(input.input)) {
		if (ar_subagent_check_input(d, r, &input, &n, err) != AR_OK ||
		    ar_subagent_check_again(d, r, err) != AR_OK)
			return AR_E_REFUSED;
	}
	if (turn && turn->is_lost)
		ar_decide_resume_lost(d, turn);
	if (n.in && ar_subagent_is_over(r))
		say_resumed(d, r, in->reason);
	if (n.in)
		ar_subagent_send(d, r, &n, input.is_structured);
	r = ar_session_subagent(d->session, in->subagent_id);
	ar_decide_reply(d, AR_CMD_RESUME_SUBAGENT,
			&(struct ar_cmd_resume_subagent_out){ .subagent_id = in->subagent_id,
							      .child_thread_id = r->child_thread_id,
							      .status = r->status });
	return AR_OK;
}
