/* export_evidence, export_replay, export_review: what was read and written for one is recorded
 * (engine/export/ does that before the command is decided, since it takes long and changes nothing). And
 * record_evidence: what an evidence system says is quoted, with its source. The runtime judges nothing. */
#include "describe.h"
#include "evidence/evidence.h"
#include "task/task.h"

/* Contents are stored on the way of an export: no fact is about them before there is a whole. */
enum ar_status ar_decide_contents(struct ar_decision *d, struct ar_error *err)
{
	(void)err;
	for (size_t i = 0; i < d->input->contents.count; i++)
		(void)ar_decide_content(d, d->input->contents.at[i]);
	return AR_OK;
}

static struct ar_ids ids_of(const struct ar_shape_evidence_scope *scope, struct ar_str id)
{
	struct ar_ids ids = { 0 };

	ids.at[AR_SCOPE_THREAD] = scope->thread_id;
	ids.at[AR_SCOPE_TURN] = scope->turn_id;
	ids.at[AR_SCOPE_TASK] = scope->task_id;
	ids.at[AR_SCOPE_JOB] = scope->job_id;
	ids.at[AR_SCOPE_TOOL_CALL] = scope->tool_call_id;
	ids.at[AR_SCOPE_EVIDENCE] = id;
	return ids;
}

static struct ar_str new_id(struct ar_decision *d)
{
	return ar_decide_mint(d, "evidence", &d->counters.evidence.v);
}

static enum ar_status need_export(const struct ar_decision *d, struct ar_error *err)
{
	const struct ar_exported *x = d->input->exported;

	if (d->session->head == 0)
		return ar_refuse(err, AR_ERR_SESSION_NOT_FOUND, "there is no such session");
	if (!x)
		return ar_refuse(err, AR_ERR_EXPORT_FAILED, "the log was not read");
	return x->code ? ar_refuse(err, x->code, "%s", x->why) : AR_OK;
}

/* A task may have waited for it. */
static void look_again(struct ar_decision *d, const struct ar_shape_evidence_scope *scope)
{
	const struct ar_turn *turn =
		ar_str_absent(scope->task_id) ? NULL : ar_session_task(d->session, scope->task_id);

	ar_task_look_again(d, scope->task_id);
	ar_task_look_again_for(d, turn ? turn->id : scope->turn_id);
}

/* Returns the ref of the document. */
static struct ar_str say_exported(struct ar_decision *d, int kind,
				  const struct ar_shape_evidence_scope *scope, struct ar_str id)
{
	const struct ar_exported *x = d->input->exported;
	struct ar_str ref = ar_decide_content(d, x->document);
	struct ar_ids ids = ids_of(scope, id);
	struct ar_shape_evidence_scope named = *scope;
	struct ar_ev_evidence_changed e = { .kind = kind,
					    .scope = &named,
					    .known_gaps = x->gaps,
					    .source = AR_STR(AR_EVIDENCE_RUNTIME),
					    .sequence = AR_OPT_INT((int64_t)x->sequence),
					    .tree_root = x->root,
					    .trace_ids = x->traces,
					    .duration_ms = AR_OPT_INT(x->duration_ms) };

	named.session_id = d->session->id;
	if (kind == AR_EVIDENCE_CHANGED_KIND_PACK)
		e.pack_ref = ref;
	else if (kind == AR_EVIDENCE_CHANGED_KIND_REPLAY)
		e.replay_ref = ref;
	else
		e.review_ref = ref;
	ar_decide_emit(d, AR_EV_EVIDENCE_CHANGED, &ids, &e);
	look_again(d, scope);
	return ref;
}

enum ar_status ar_decide_export_evidence(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_export_evidence_in *in = d->input->command.args;
	const struct ar_shape_evidence_scope scope = { .thread_id = in->thread_id,
						       .turn_id = in->turn_id,
						       .task_id = in->task_id,
						       .job_id = in->job_id };
	struct ar_cmd_export_evidence_out out;

	if (need_export(d, err) != AR_OK)
		return AR_E_REFUSED;
	out = (struct ar_cmd_export_evidence_out){
		.evidence_id = ar_str_absent(in->evidence_id) ? new_id(d) : in->evidence_id,
		.known_gaps = d->input->exported->gaps,
		.signal_status = d->input->exported->signals,
	};
	out.pack_ref = say_exported(d, AR_EVIDENCE_CHANGED_KIND_PACK, &scope, out.evidence_id);
	ar_decide_reply(d, AR_CMD_EXPORT_EVIDENCE, &out);
	return AR_OK;
}

enum ar_status ar_decide_export_replay(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_export_replay_in *in = d->input->command.args;
	const struct ar_shape_evidence_scope scope = { .thread_id = in->thread_id,
						       .turn_id = in->turn_id,
						       .task_id = in->task_id,
						       .job_id = in->job_id };
	struct ar_cmd_export_replay_out out;

	if (need_export(d, err) != AR_OK)
		return AR_E_REFUSED;
	out.evidence_id = new_id(d);
	out.replay_ref = say_exported(d, AR_EVIDENCE_CHANGED_KIND_REPLAY, &scope, out.evidence_id);
	ar_decide_reply(d, AR_CMD_EXPORT_REPLAY, &out);
	return AR_OK;
}

enum ar_status ar_decide_export_review(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_export_review_in *in = d->input->command.args;
	const struct ar_shape_evidence_scope scope = { .thread_id = in->thread_id,
						       .turn_id = in->turn_id,
						       .task_id = in->task_id,
						       .job_id = in->job_id };
	struct ar_cmd_export_review_out out;

	if (need_export(d, err) != AR_OK)
		return AR_E_REFUSED;
	out.evidence_id = new_id(d);
	out.review_ref = say_exported(d, AR_EVIDENCE_CHANGED_KIND_REVIEW, &scope, out.evidence_id);
	ar_decide_reply(d, AR_CMD_EXPORT_REVIEW, &out);
	return AR_OK;
}

/* ---- what others say ---- */

/* What left the windows of the state cannot be checked here and is taken as it was named. */
static enum ar_status check_scope(const struct ar_decision *d, const struct ar_cmd_record_evidence_in *in,
				  struct ar_error *err)
{
	const struct ar_str ids[] = { in->thread_id, in->turn_id, in->task_id, in->job_id, in->tool_call_id };

	if (!ar_str_absent(in->thread_id) && !ar_session_thread(d->session, in->thread_id))
		return ar_refuse(err, AR_ERR_SCOPE_NOT_FOUND, "the session has no thread %.*s",
				 AR_STR_ARG(ar_str_utf8_prefix(in->thread_id, 64)));
	for (size_t i = 0; i < AR_ARRAY_LEN(ids); i++) {
		struct ar_str owner = ar_str_absent(ids[i]) ? AR_STR_NONE : ar_id_owner(ids[i]);

		if (!ar_str_absent(owner) && !ar_str_eq(owner, d->session->session_key))
			return ar_refuse(err, AR_ERR_SCOPE_NOT_FOUND, "%.*s is not of this session",
					 AR_STR_ARG(ar_str_utf8_prefix(ids[i], 64)));
	}
	return AR_OK;
}

/* The words of another system as ours. */
static enum ar_status read_signals(struct ar_decision *d, struct ar_shape_reported_signal_list said,
				   struct ar_shape_signal_status_list *ret, struct ar_error *err)
{
	struct ar_shape_signal_status *at = ar_arena_alloc(d->arena, (said.count + 1) * sizeof(*at));

	*ret = (struct ar_shape_signal_status_list){ said.at ? at : NULL, said.count };
	for (size_t i = 0; i < said.count; i++) {
		struct ar_str word = said.at[i].status;

		if (ar_str_is(word, "correlation_missing"))
			word = AR_STR("missing_correlation");
		at[i] = (struct ar_shape_signal_status){ .signal = said.at[i].signal,
							 .status = ar_enum_find(&ar_signal_word_desc, word) };
		if (at[i].status <= 0)
			return ar_refuse(err, AR_ERR_INVALID_INPUT,
					 "'%.*s' is no word for a signal; see docs/evidence.md",
					 AR_STR_ARG(ar_str_utf8_prefix(word, 64)));
	}
	return AR_OK;
}

static enum ar_status check_record(const struct ar_decision *d, const struct ar_cmd_record_evidence_in *in,
				   struct ar_error *err)
{
	bool is_log = in->kind == AR_RECORD_EVIDENCE_KIND_REQUEST_LOG;

	if (d->session->head == 0)
		return ar_refuse(err, AR_ERR_SESSION_NOT_FOUND, "there is no such session");
	if (is_log == ar_str_absent(in->lines))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "lines are what a request_log has, and only it");
	return check_scope(d, in, err);
}

/* What is about a call is about its turn. A call that left the windows says its id alone. */
static struct ar_shape_evidence_scope scope_of(const struct ar_decision *d,
					       const struct ar_cmd_record_evidence_in *in)
{
	struct ar_shape_evidence_scope scope = { .session_id = d->session->id,
						 .thread_id = in->thread_id,
						 .turn_id = in->turn_id,
						 .task_id = in->task_id,
						 .job_id = in->job_id,
						 .tool_call_id = in->tool_call_id };
	struct ar_invocation *call;
	struct ar_thread *t;
	const struct ar_turn *turn = ar_str_absent(in->tool_call_id)
					     ? NULL
					     : ar_session_call(d->session, in->tool_call_id, &call, &t);

	if (turn && ar_str_absent(scope.turn_id)) {
		scope.turn_id = turn->id;
		scope.thread_id = turn->thread;
	}
	return scope;
}

enum ar_status ar_decide_record_evidence(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_record_evidence_in *in = d->input->command.args;
	const struct ar_shape_evidence_scope scope = scope_of(d, in);
	struct ar_cmd_record_evidence_in said = *in;
	struct ar_cmd_record_evidence_out out;
	struct ar_ev_evidence_changed e;
	struct ar_str ref;
	struct ar_shape_signal_status_list signals;
	bool is_log = in->kind == AR_RECORD_EVIDENCE_KIND_REQUEST_LOG;
	struct ar_ids ids;

	if (check_record(d, in, err) != AR_OK || read_signals(d, in->signals, &signals, err) != AR_OK)
		return AR_E_REFUSED;
	said.idempotency_key = said.lines = AR_STR_NONE;
	out.evidence_id = new_id(d);
	ref = ar_decide_content(d,
				ar_decide_shape(d, &ar_command_describe(AR_CMD_RECORD_EVIDENCE)->in, &said));
	ids = ids_of(&scope, out.evidence_id);
	e = (struct ar_ev_evidence_changed){ .kind = is_log ? AR_EVIDENCE_CHANGED_KIND_TRACE : in->kind,
					     .scope = &scope,
					     .source = in->source,
					     .external_ref = in->external_ref,
					     .note = in->note,
					     .verification_outcomes = in->verification_outcomes,
					     .signals = signals };
	if (is_log)
		e.request_log_ref = ar_decide_content(d, in->lines);
	*(e.kind == AR_EVIDENCE_CHANGED_KIND_PACK     ? &e.pack_ref
	  : e.kind == AR_EVIDENCE_CHANGED_KIND_REPLAY ? &e.replay_ref
	  : e.kind == AR_EVIDENCE_CHANGED_KIND_TRACE  ? &e.trace_ref
						      : &e.review_ref) = ref;
	ar_decide_emit(d, AR_EV_EVIDENCE_CHANGED, &ids, &e);
	out.evidence = ar_evidence_at(d->session, d->session->evidence.count - 1);
	ar_decide_reply(d, AR_CMD_RECORD_EVIDENCE, &out);
	return AR_OK;
}
