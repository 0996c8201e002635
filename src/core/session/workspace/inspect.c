/* The files of a trusted workspace are looked at before the first request of each turn, so that a change of
 * them reaches the next turn. Only a change is a fact. Reading has no effect on anything, so it needs no
 * intent: after a crash it is done again. Pure. */
#include "apply.h"
#include "decide.h"
#include "inspect.h"
#include "worker/worker.h"

enum ar_hold ar_workspace_inspect(struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_shape_workspace_binding *bound = d->session->bound;

	if (!bound || !bound->trusted.v || !d->input->policy->inspects_workspaces || turn->is_interrupted ||
	    !ar_worker_is_ready(d))
		return AR_GO_ON; /* without its worker the turn has the instructions that the session had */
	ar_decide_effect(d, AR_EFFECT_INSPECT)->inspect = (struct ar_effect_inspect){
		.turn = turn->id, .folder = ar_str_absent(bound->origin) ? bound->folder : bound->origin
	};
	return AR_HELD;
}

/* It may have been interrupted, or have gone on by another look. */
static bool is_waiting(const struct ar_thread *t, const struct ar_turn *turn)
{
	return ar_thread_active(t) == turn && !turn->is_interrupted && !ar_turn_last_step(turn) &&
	       ar_str_absent(turn->open_step);
}

static bool is_known(const struct ar_session *s, const struct ar_shape_workspace_instructions *found)
{
	const struct ar_shape_workspace_instructions *known = s->instructions;

	return known && ar_str_eq(known->ref, found->ref) && ar_str_eq(known->file, found->file) &&
	       ar_str_eq(known->reason, found->reason);
}

static void emit_if_changed(struct ar_decision *d, const struct ar_turn *turn, const struct ar_inspected *in)
{
	bool has_text = !ar_str_empty(in->instructions);
	const struct ar_shape_workspace_instructions found = {
		.ref = has_text ? ar_decide_ref(d, in->instructions) : AR_STR_NONE,
		.bytes = (int64_t)in->instructions.len,
		.file = in->file,
		.reason = in->reason
	};

	if (is_known(d->session, &found))
		return;
	if (has_text)
		ar_decide_content(d, ar_arena_str(d->arena, in->instructions));
	ar_turn_emit(d, turn, AR_EV_WORKSPACE_INSPECTED,
		     &(struct ar_ev_workspace_inspected){ .instructions = &found,
							  .items_digest = in->digest });
}

enum ar_status ar_decide_inspected(struct ar_decision *d, struct ar_error *err AR_UNUSED)
{
	const struct ar_inspected *found = d->input->inspected.found;
	struct ar_thread *thread;
	struct ar_turn *turn = ar_session_turn(d->session, d->input->inspected.turn, &thread);

	if (!turn || !is_waiting(thread, turn))
		return AR_OK;
	if (!ar_str_absent(found->digest)) /* otherwise it is not known: the session goes on as it was */
		emit_if_changed(d, turn, found);
	ar_decide_ask_model(d, turn, 1);
	return AR_OK;
}

enum ar_status ar_apply_workspace_inspected(struct ar_session *s, const struct ar_event *e,
					    struct ar_error *err)
{
	const struct ar_ev_workspace_inspected *p = PAYLOAD(e, workspace_inspected);

	if (!p->instructions)
		return ar_apply_unknown(err, e, "workspace");
	s->instructions = ar_struct_copy(&ar_shape_workspace_instructions_desc, p->instructions, AR_COPY_TEXT,
					 &s->arena);
	return AR_OK;
}
