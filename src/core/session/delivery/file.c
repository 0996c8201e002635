/* A result that is written to a file of the workspace. Its turn asks no model: the call of write_file is
 * judged, confined, recorded and found again after a crash as one that a model requests, and writing the
 * same content twice is writing it once. Pure. */
#include "delivery/delivery.h"
#include "checkpoint/checkpoints.h"
#include "describe.h"
#include "identity.h"
#include "people.h"
#include "quota/quota.h"
#include "task/task.h"
#include "tool/calls.h"

#define WRITE_FILE "write_file"
#define ATTEMPTS_MAX 3
#define PAUSE ((ar_usec)500 * 1000) /* before the second attempt; then four times as long */
#define SHOWN_MAX 256 /* bytes of a path that are quoted */

/* ---- what is written ---- */

static struct ar_str job_text(struct ar_decision *d, const struct ar_job *job)
{
	const struct ar_shape_job_counts counts = ar_job_counts(job);
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "jobId", job->id);
	ar_jw_mstr(&w, "sessionId", d->session->id);
	ar_jw_mstr(&w, "status", ar_job_status_word(job));
	ar_jw_mint(&w, "itemCount", job->item_count);
	ar_jw_key(&w, "counts");
	ar_struct_encode(&ar_shape_job_counts_desc, &counts, AR_STR_NONE, &w);
	if (job->error) {
		ar_jw_key(&w, "error");
		ar_struct_encode(&ar_shape_failure_desc, job->error, AR_STR_NONE, &w);
	}
	ar_jw_close(&w);
	return ar_arena_fmt(d->arena, "%.*s\n", AR_STR_ARG(ar_decide_json_end(d)));
}

/* Absent: it is stored, and not at hand. */
static struct ar_str text_of(struct ar_decision *d, const struct ar_deliverable *what)
{
	struct ar_str ref = ar_delivery_result(d->session, what);

	if (what->job)
		return job_text(d, what->job);
	if (!ar_str_absent(ref))
		return ar_decide_text(d, ref);
	if (!ar_str_empty(what->task->sheet->summary))
		return what->task->sheet->summary;
	return ar_arena_fmt(d->arena, "Task %.*s is completed\n", AR_STR_ARG(what->task->id));
}

/* ---- the turn ---- */

/* Means and limits of the work, as far as they are about calls. */
static enum ar_status options_of(struct ar_decision *d, const struct ar_deliverable *what,
				 struct ar_shape_turn_options *ret, struct ar_error *err)
{
	static const struct ar_shape_turn_options none;
	const struct ar_shape_turn_options *all =
		what->job && what->job->options ? what->job->options : &none;

	if (what->task && ar_task_options(d, what->task, AR_STR_NONE, &all, err) != AR_OK)
		return AR_E_REFUSED;
	*ret = (struct ar_shape_turn_options){ .mode = all->mode, .sandbox = all->sandbox };
	if (ar_decide_check_options(d, ret, err) != AR_OK)
		return AR_E_REFUSED;
	ret->purpose = AR_TURN_OPTIONS_PURPOSE_DELIVERY;
	return AR_OK;
}

static struct ar_texts people_of(struct ar_decision *d, const struct ar_deliverable *what)
{
	struct ar_str *one = ar_arena_alloc(d->arena, sizeof(*one));

	if (what->task)
		return what->task->sheet->people.at ? what->task->sheet->people : ar_people_unknown();
	*one = what->job->person;
	return ar_str_absent(*one) ? ar_people_unknown() : (struct ar_texts){ one, 1 };
}

static enum ar_status plan_turn(struct ar_decision *d, const struct ar_deliverable *what,
				struct ar_new_turn *ret, struct ar_error *err)
{
	struct ar_shape_turn_options *options = ar_arena_alloc(d->arena, sizeof(*options));
	struct ar_cmd_submit_turn_in *in = ar_arena_alloc(d->arena, sizeof(*in));
	struct ar_str text =
		ar_arena_fmt(d->arena, "Write the result of %.*s to %.*s",
			     AR_STR_ARG(ar_delivery_subject(what)),
			     AR_STR_ARG(ar_str_utf8_prefix(ar_delivery_to(what)->target, SHOWN_MAX)));

	if (ar_tenant_check_turn(d, false, err) != AR_OK || options_of(d, what, options, err) != AR_OK)
		return AR_E_REFUSED;
	*in = (struct ar_cmd_submit_turn_in){ .session_id = d->session->id,
					      .turn_id = ar_decide_mint(d, "turn", &d->counters.turn),
					      .source = AR_STR(AR_SOURCE_SYSTEM),
					      .options = options };
	*ret = (struct ar_new_turn){ .in = in,
				     .input = { .parts = ar_decide_text_parts(d, text), .preview = text },
				     .people = people_of(d, what) };
	return AR_OK;
}

void ar_delivery_write(struct ar_decision *d, const struct ar_deliverable *what)
{
	struct ar_shape_delivery_state state = *ar_delivery_state(what);
	struct ar_new_turn turn;
	struct ar_error err = { 0 };

	if (ar_str_absent(text_of(d, what))) {
		ar_delivery_say_failed(d, what, AR_STR("the result is not stored any more"));
		return;
	}
	if (plan_turn(d, what, &turn, &err) != AR_OK) {
		ar_delivery_say_failed(d, what, ar_arena_str(d->arena, ar_str_from(err.msg)));
		return;
	}
	state.attempts = AR_OPT_INT(state.attempts.v + 1);
	state.turn_id = turn.in->turn_id;
	ar_delivery_say(d, what, &state);
	ar_delivery_wake(d, what, state.deadline);
	ar_decide_admit(d, &turn, NULL);
}

/* ---- its call ---- */

/* What the turn delivers; one that failed meanwhile is still found. */
static bool delivered_by(const struct ar_session *s, struct ar_str turn, struct ar_deliverable *ret)
{
	for (size_t i = 0; i < s->declared.count + s->jobs.count; i++) {
		bool is_task = i < s->declared.count;
		struct ar_deliverable what = { .task = is_task ? s->declared.at[i] : NULL,
					       .job = is_task ? NULL : s->jobs.at[i - s->declared.count] };
		const struct ar_shape_delivery_state *state = ar_delivery_state(&what);

		*ret = what;
		if (ar_delivery_to(&what) && state && ar_str_eq(state->turn_id, turn))
			return true;
	}
	return false;
}

static void request_call(struct ar_decision *d, struct ar_turn *turn, const struct ar_deliverable *what,
			 struct ar_str text)
{
	struct ar_str path = ar_delivery_to(what)->target;
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "path", path);
	ar_jw_mstr(&w, "content", text);
	ar_jw_close(&w);
	ar_task_run_call(d, turn,
			 &(struct ar_own_call){ .tool = WRITE_FILE,
						.title = "A result is written to a file",
						.args = ar_decide_json_end(d),
						.detail = ar_str_utf8_prefix(path, SHOWN_MAX) });
}

static void fail_turn(struct ar_decision *d, struct ar_turn *turn, struct ar_str category,
		      struct ar_str message, bool is_retryable)
{
	ar_decide_fail(d, turn,
		       &(struct ar_ending){ .status = AR_TURN_FAILED_STATUS_FAILED,
					    .category = category,
					    .message = message,
					    .advice = AR_STR("none is needed"),
					    .retryable = is_retryable });
}

/* Nobody who may not write there is asked a second time. */
static bool may_help_again(const struct ar_invocation *call)
{
	return !ar_str_is(call->status, "denied") && !ar_str_is(call->status, "blocked");
}

static void call_ended(struct ar_decision *d, struct ar_turn *turn, const struct ar_invocation *call)
{
	struct ar_str said = ar_str_absent(call->preview) ? AR_STR("") : call->preview;

	if (!ar_str_is(call->status, "ok"))
		fail_turn(d, turn, ar_str_empty(call->category) ? AR_STR("failed") : call->category,
			  ar_arena_fmt(d->arena, "the file could not be written (%.*s): %.*s",
				       AR_STR_ARG(call->status), AR_STR_ARG(said)),
			  may_help_again(call));
	else if (ar_checkpoint_before_end(d, turn) == AR_GO_ON)
		ar_decide_complete(d, turn, AR_STR_NONE, AR_STR("delivered"));
}

void ar_delivery_go_on(struct ar_decision *d, struct ar_turn *turn)
{
	const struct ar_invocation *call = turn->calls.count ? ar_call_at(turn, turn->calls.count - 1) : NULL;
	struct ar_deliverable what;
	struct ar_str text;

	if (call) {
		if (call->stage == AR_CALL_ENDED)
			call_ended(d, turn, call);
		return;
	}
	if (!delivered_by(d->session, turn->id, &what) || !ar_delivery_is_open(&what)) {
		fail_turn(d, turn, AR_STR("task_ended"), AR_STR("nothing is left to deliver"), false);
		return;
	}
	text = text_of(d, &what);
	if (ar_str_absent(text)) /* the next attempt brings it along */
		fail_turn(d, turn, AR_STR("interrupted"), AR_STR("the runtime stopped before the call began"),
			  true);
	else
		request_call(d, turn, &what, text);
}

void ar_delivery_turn_ended(struct ar_decision *d, const struct ar_turn *turn, const struct ar_ending *end)
{
	struct ar_deliverable what;
	ar_usec pause = PAUSE;

	if (ar_turn_options(turn)->purpose != AR_TURN_OPTIONS_PURPOSE_DELIVERY ||
	    !delivered_by(d->session, turn->id, &what))
		return;
	if (end->status == 0) { /* also of one whose time was over: it is there now */
		ar_delivery_say_delivered(d, &what);
		return;
	}
	if (!ar_delivery_is_open(&what))
		return;
	if (!end->retryable || ar_delivery_state(&what)->attempts.v >= ATTEMPTS_MAX) {
		ar_delivery_say_failed(d, &what, end->message);
		return;
	}
	for (int64_t i = 1; i < ar_delivery_state(&what)->attempts.v; i++)
		pause *= 4;
	ar_delivery_wake(d, &what, d->input->now + pause);
}
