/* Every way a tool call ends, and what the model reads of it. The whole output is kept; the
 * model gets its beginning and its end when it is longer than policy allows. Pure. */
#include "artifact/artifact.h"
#include "evidence/evidence.h"
#include "hook/hooks.h"
#include "output/outputs.h"
#include "action/action.h"
#include "process/record.h"
#include "tool/calls.h"
#include "identity.h"

#define PREVIEW_MAX AR_OUTPUT_PREVIEW_MAX

struct ar_ids ar_ids_call(struct ar_decision *d, const struct ar_turn *turn, const struct ar_invocation *call)
{
	struct ar_ids ids = ar_ids_turn(d, turn);

	ids.at[AR_SCOPE_STEP] = call->step;
	ids.at[AR_SCOPE_TOOL_CALL] = call->id;
	return ids;
}

/* ---- what the model reads ---- */

/* The end of a text, from a whole character on. */
static struct ar_str utf8_suffix(struct ar_str text, size_t max)
{
	size_t from = text.len > max ? text.len - max : 0;

	while (from < text.len && ((unsigned char)text.p[from] & 0xC0) == 0x80)
		from++;
	return (struct ar_str){ text.p + from, text.len - from };
}

static struct ar_str cut(struct ar_decision *d, struct ar_str text)
{
	size_t max = (size_t)d->input->policy->tool_result_bytes;
	struct ar_str head = ar_str_utf8_prefix(text, max / 4 * 3), tail = utf8_suffix(text, max / 4);

	return ar_arena_fmt(d->arena, "%.*s\n[... %zu of %zu bytes left out ...]\n%.*s", AR_STR_ARG(head),
			    text.len - head.len - tail.len, text.len, AR_STR_ARG(tail));
}

struct answer {
	struct ar_str whole, read; /* refs */
	int64_t bytes; /* that the model reads */
};

/* In what the tool brought; what a client brought was masked with its command. */
static const struct ar_masked *masked_of(const struct ar_decision *d)
{
	static const struct ar_masked nothing;

	return d->input->kind == AR_IN_TOOL_DONE ? &d->input->tool_done.masked : &nothing;
}

/* The ids of its end: with that of the request that brought it, as the tool's server knows it. */
static struct ar_ids ids_of_end(struct ar_decision *d, const struct ar_turn *turn,
				const struct ar_invocation *call)
{
	struct ar_ids ids = ar_ids_call(d, turn, call);

	if (d->input->kind == AR_IN_TOOL_DONE && ar_str_eq(d->input->tool_done.call, call->id))
		ids.at[AR_SCOPE_REQUEST] = d->input->tool_done.result->request_id;
	return ids;
}

/* `is_json`: of a result that is nothing but its structured form. */
static struct answer answer_of(struct ar_decision *d, const struct ar_ids *ids, struct ar_str text,
			       bool is_json)
{
	const struct ar_masked *masked = masked_of(d);
	struct answer a = { .whole = ar_decide_content(d, text), .bytes = (int64_t)text.len };
	struct ar_ids owner = *ids;
	struct ar_str shorter;

	a.read = a.whole;
	if (a.bytes <= d->input->policy->tool_result_bytes)
		return a;
	shorter = cut(d, text);
	a.read = ar_decide_content(d, shorter);
	a.bytes = (int64_t)shorter.len;
	ar_decide_spilled(d, ids,
			  &(struct ar_spill){ .owner = AR_OUTPUT_SPILLED_OWNER_TOOL,
					      .ref = a.whole,
					      .beginning = text,
					      .size = (int64_t)text.len,
					      .is_json = is_json,
					      .masked = masked });
	owner.at[AR_SCOPE_OUTPUT] = a.whole;
	ar_decide_emit(d, AR_EV_OUTPUT_TRUNCATED, &owner,
		       &(struct ar_ev_output_truncated){ .truncation =
								 AR_OUTPUT_TRUNCATED_TRUNCATION_HEAD_TAIL,
							 .original_size = (int64_t)text.len,
							 .kept_size = a.bytes,
							 .raw_output_ref = a.whole });
	return a;
}

/* ---- the ends ---- */

/* The boundary it did its work in: its own, as this decision says, or that of its process.
 * Absent: none is on record. */
static struct ar_str sandbox_of(const struct ar_decision *d, const struct ar_invocation *call)
{
	const struct ar_process_record *p = ar_session_process_of(d->session, call->id);

	for (size_t i = 0; i < d->event_count; i++) {
		if (d->events[i].type == AR_EV_SANDBOX_APPLIED &&
		    ar_str_eq(d->events[i].ids[AR_SCOPE_TOOL_CALL], call->id))
			return d->events[i].event_id;
	}
	return p ? p->sandbox : AR_STR_NONE;
}

/* An image is kept as the part of a message that it becomes. */
static struct ar_str keep_image(struct ar_decision *d, const struct ar_tool_image *image)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "mimeType", image->mime);
	ar_jw_mstr(&w, "data", image->data);
	ar_jw_close(&w);
	return ar_decide_content(d, ar_decide_json_end(d));
}

static struct ar_texts image_refs(struct ar_decision *d, const struct ar_tool_result *result)
{
	struct ar_str *refs;

	if (result->image_count == 0)
		return (struct ar_texts){ 0 };
	refs = ar_arena_alloc(d->arena, result->image_count * sizeof(*refs));
	for (size_t i = 0; i < result->image_count; i++)
		refs[i] = keep_image(d, &result->images[i]);
	return (struct ar_texts){ refs, result->image_count };
}

/* What was recorded of it while it was open. */
static struct ar_texts evidence_refs(struct ar_decision *d, const struct ar_invocation *call)
{
	const struct ar_session *s = d->session;
	struct ar_str *refs = ar_arena_alloc(d->arena, (s->evidence.count + 1) * sizeof(*refs));
	size_t n = 0;

	for (size_t i = 0; i < s->evidence.count; i++) {
		const struct ar_shape_evidence_record *r = ar_evidence_at(s, i);

		if (r->scope && ar_str_eq(r->scope->tool_call_id, call->id))
			refs[n++] = r->ref;
	}
	return n ? (struct ar_texts){ refs, n } : (struct ar_texts){ 0 };
}

void ar_decide_end_call(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			const struct ar_tool_result *result, int64_t duration_ms)
{
	struct ar_ids ids = ids_of_end(d, turn, call);
	const struct ar_masked *masked = masked_of(d);
	struct ar_str text = !ar_str_empty(result->text) ? result->text : result->structured;
	bool is_split = !ar_str_absent(result->structured);
	struct answer a = answer_of(d, &ids, ar_str_empty(text) ? AR_STR("(no output)") : text,
				    is_split && ar_str_eq(text, result->structured));
	const struct ar_changed_files files = { .at = result->artifacts,
						.count = result->artifact_count,
						.total = result->artifact_count };
	struct ar_texts artifacts = ar_decide_artifacts(d, &ids, &files);

	ar_decide_emit(
		d, AR_EV_TOOL_RESULT, &ids,
		&(struct ar_ev_tool_result){
			.status = AR_TOOL_RESULT_STATUS_OK,
			.sandbox_ref = sandbox_of(d, call),
			.preview = ar_str_empty(text) ? AR_STR("") : ar_str_utf8_prefix(text, PREVIEW_MAX),
			.output_ref = a.whole,
			.structured_content_ref =
				is_split ? ar_decide_content(d, result->structured) : AR_STR_NONE,
			.display_preview = is_split ? ar_str_utf8_prefix(text, PREVIEW_MAX) : AR_STR_NONE,
			.raw_output_ref = is_split ? a.whole : AR_STR_NONE,
			.images = image_refs(d, result),
			.artifact_refs = artifacts,
			.evidence_refs = evidence_refs(d, call),
			.hook_run_refs = ar_hook_refs(d, turn, call),
			.permission_ref = call->permission,
			.changes_ref = ar_str_absent(result->changes) ? AR_STR_NONE
								      : ar_decide_content(d, result->changes),
			.duration_ms = AR_OPT_INT(duration_ms),
			.answer_ref = ar_str_eq(a.read, a.whole) ? AR_STR_NONE : a.read,
			.answer_bytes = AR_OPT_INT(a.bytes),
			.tool_name = ar_str_utf8_prefix(call->name, 128) });
	ar_decide_masked(d, &ids, a.whole, masked);
}

static struct ar_str failure_text(struct ar_decision *d, const struct ar_call_failure *why)
{
	if (!ar_str_empty(why->text))
		return why->text;
	return ar_arena_fmt(d->arena, "Error (%.*s): %.*s", AR_STR_ARG(why->category),
			    AR_STR_ARG(why->message));
}

void ar_decide_fail_call(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			 const struct ar_call_failure *why)
{
	struct ar_ids ids = ids_of_end(d, turn, call);
	const struct ar_masked *masked = masked_of(d);
	struct answer a = answer_of(d, &ids, failure_text(d, why), false);

	ar_decide_cancel_questions(d, turn, call->id);
	ar_decide_end_process_of(d, call, AR_STR("its tool call ended"));
	ar_decide_emit(d, AR_EV_TOOL_FAILED, &ids,
		       &(struct ar_ev_tool_failed){
			       .status = why->status,
			       .error_category = why->category,
			       .retryable = why->retryable,
			       .recovery_advice = ar_str_absent(why->advice) ? AR_STR("") : why->advice,
			       .error_ref = a.read,
			       .permission_ref = call->permission,
			       .sandbox_ref = sandbox_of(d, call),
			       .hook_run_ref = why->hook_run,
			       .answer_bytes = AR_OPT_INT(a.bytes),
			       .tool_name = ar_str_utf8_prefix(call->name, 128) });
	ar_decide_masked(d, &ids, a.read, masked);
}

/* Asked for and ended in one breath: its arguments and the reason are on record, it never began. */
void ar_decide_refuse_call(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			   const char *policy, const struct ar_call_failure *why)
{
	struct ar_str before = call->attempt > 0 ? call->id : AR_STR_NONE;
	struct ar_ids ids = ar_ids_call(d, turn, call);
	/* Otherwise a model could call what does not exist for as long as it likes. */
	bool is_counted = ar_str_is(why->category, "tool_unavailable");

	if (call->attempt > 0)
		ids.at[AR_SCOPE_TOOL_CALL] = ar_decide_next_call_id(d, turn, call);
	ar_decide_emit(d, AR_EV_TOOL_STARTED, &ids,
		       &(struct ar_ev_tool_started){ .tool_name = ar_str_utf8_prefix(call->name, 128),
						     .input_ref = call->args_ref,
						     .policy = ar_str_from(policy),
						     .permission_ref = call->permission,
						     .provider_call_id = call->provider_id,
						     .attempt = { call->attempt + 1, is_counted },
						     .retry_of = before });
	ar_decide_fail_call(d, turn, call, why);
}

/* Where nobody is to be asked, the model is told that it may have happened. */
static bool may_ask(struct ar_decision *d, const struct ar_turn *turn)
{
	struct ar_str mode = ar_str_from(ar_permission_mode_of(d, turn));

	return !turn->is_interrupted && !ar_str_is(mode, "never") && !ar_str_is(mode, "bypass");
}

void ar_decide_ask_about_lost(struct ar_decision *d, const struct ar_turn *turn,
			      const struct ar_invocation *call)
{
	ar_decide_ask(d, turn,
		      &(struct ar_ask){
			      .type = AR_ACTION_COMPLETION_OVERRIDE,
			      .call = call->id,
			      .step = call->step,
			      .tool = call->name,
			      .input_ref = call->args_ref,
			      .approvals = call->approvals.v,
			      .prompt = ar_arena_fmt(
				      d->arena,
				      "%.*s was cut after it began, and nobody knows whether it took "
				      "effect. Find out, then: retry it, skip it, or mark it as done.",
				      AR_STR_ARG(call->name)) });
}

void ar_decide_begin_again(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			   struct ar_str why)
{
	bool is_tried_again = call->attempt < AR_SAFE_ATTEMPTS && !turn->is_interrupted;

	ar_decide_fail_call(d, turn, call,
			    &(struct ar_call_failure){
				    .status = AR_TOOL_FAILED_STATUS_INTERRUPTED,
				    .category = is_tried_again ? AR_STR(AR_CATEGORY_NOT_BEGUN)
							       : AR_STR(AR_CATEGORY_INTERRUPTED),
				    .message = why,
				    .advice = is_tried_again ? AR_STR("none: it is tried again")
							     : AR_STR("call again"),
				    .retryable = true });
}

/* Nobody is asked in these modes: readers and the inbox would learn nothing of a write that may
 * have happened. */
static void warn_of_lost(struct ar_decision *d, const struct ar_turn *turn, const struct ar_invocation *call)
{
	struct ar_ids ids = ar_ids_call(d, turn, call);

	ar_decide_emit(
		d, AR_EV_RUNTIME_WARNING, &ids,
		&(struct ar_ev_runtime_warning){
			.code = AR_STR(AR_WARNING_LOST_WRITE),
			.scope = ar_arena_fmt(d->arena, "{\"toolCallId\":\"%.*s\"}", AR_STR_ARG(call->id)),
			.message = ar_arena_fmt(d->arena,
						"%.*s was cut after it began and may have taken effect; in "
						"permission mode %s nobody is asked about it, only the "
						"model is told",
						AR_STR_ARG(call->name), ar_permission_mode_of(d, turn)) });
}

/* It began, and its end is not known. What changes nothing is tried again; about the rest a
 * person decides. */
void ar_decide_lose_call(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call)
{
	bool is_safe = ar_call_is_safe(call), is_open = is_safe || may_ask(d, turn);

	ar_decide_fail_call(
		d, turn, call,
		&(struct ar_call_failure){
			.status = AR_TOOL_FAILED_STATUS_INTERRUPTED,
			.category = is_open ? AR_STR(AR_CATEGORY_UNKNOWN_OUTCOME)
					    : AR_STR(AR_CATEGORY_INTERRUPTED),
			.message = is_safe ? AR_STR("the call was cut; it is safe to repeat")
					   : AR_STR("the call was cut after it began: it may have taken "
						    "effect, or "
						    "part of it. Find out before repeating it."),
			.advice = is_safe ? AR_STR("none: it is tried again")
					  : AR_STR("find out whether it took effect before repeating it"),
			.retryable = is_safe });
	if (is_open && !is_safe && !turn->is_lost) /* a turn that is lost asks when it goes on */
		ar_decide_ask_about_lost(d, turn, call);
	else if (!is_open && !turn->is_interrupted)
		warn_of_lost(d, turn, call);
}

bool ar_decide_ask_credential(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			      const struct ar_tool_result *r)
{
	struct ar_str who = ar_str_utf8_prefix(r->credential, 256);

	if (ar_str_absent(r->credential) || turn->is_lost || !may_ask(d, turn))
		return false;
	ar_decide_fail_call(d, turn, call,
			    &(struct ar_call_failure){ .status = AR_TOOL_FAILED_STATUS_FAILED,
						       .category = AR_STR(AR_CATEGORY_CREDENTIAL),
						       .message = r->message,
						       .text = r->text,
						       .advice = AR_STR("none: a person is asked for it"),
						       .retryable = true });
	ar_decide_ask(d, turn,
		      &(struct ar_ask){
			      .type = AR_ACTION_CREDENTIAL,
			      .call = call->id,
			      .step = call->step,
			      .tool = call->name,
			      .input_ref = call->args_ref,
			      .prompt = ar_arena_fmt(
				      d->arena,
				      "%.*s refused the credential of the tool '%.*s', and nothing was done. "
				      "Make it valid where it is kept, never in the answer; then: provide, "
				      "which calls again, or decline.",
				      AR_STR_ARG(who), AR_STR_ARG(call->name)) });
	return true;
}

void ar_call_recovered(struct ar_decision *d, struct ar_turn *turn, struct ar_str id)
{
	if (ar_turn_call(turn, id) && !turn->is_lost)
		ar_decide_advance(d, turn);
}
