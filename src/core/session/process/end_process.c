/* The end of a process: one fact, with where its output is kept; or, when nobody knows how it
 * ended, the words that say so. Pure. */
#include "describe.h"
#include "process/record.h"
#include "subagent/subagents.h"
#include "task/task.h"
#include "tool/calls.h"

#define BARRIER "barrier" /* the step at which a process gives up that nobody let go: nothing of it ran */

/* What was kept, as content; the members `outputs` and `outputRefs`. */
struct stored {
	struct ar_shape_process_output_list outputs;
	struct ar_texts refs; /* in the order of what was kept */
};

static struct stored store_output(struct ar_decision *d, const struct ar_process_over *o)
{
	struct ar_str *refs = ar_arena_alloc(d->arena, (o->kept_count + 1) * sizeof(*refs));
	struct ar_shape_process_output *outputs =
		ar_arena_alloc(d->arena, (o->kept_count + 1) * sizeof(*outputs));

	for (size_t i = 0; i < o->kept_count; i++) {
		refs[i] = ar_decide_content(d, o->kept[i].bytes);
		outputs[i] = (struct ar_shape_process_output){
			.stream = ar_str_from(
				ar_enum_name(&ar_process_output_stream_desc, (int)o->kept[i].stream)),
			.offset = AR_OPT_INT((int64_t)o->kept[i].offset),
			.length = AR_OPT_INT((int64_t)o->kept[i].bytes.len),
			.ref = refs[i],
		};
	}
	return (struct stored){ .outputs = { outputs, o->kept_count }, .refs = { refs, o->kept_count } };
}

static uint64_t kept_of(const struct ar_process_over *o, int stream)
{
	uint64_t kept = 0;

	for (size_t i = 0; i < o->kept_count; i++)
		kept += (int)o->kept[i].stream == stream ? o->kept[i].bytes.len : 0;
	return kept;
}

/* What is kept of the stream of `first` behind it. */
static struct ar_texts further_refs(struct ar_decision *d, const struct ar_process_over *o,
				    const struct stored *s, size_t first)
{
	struct ar_str *refs = ar_arena_alloc(d->arena, (o->kept_count + 1) * sizeof(*refs));
	size_t n = 0;

	for (size_t i = first + 1; i < o->kept_count; i++) {
		if (o->kept[i].stream == o->kept[first].stream)
			refs[n++] = s->refs.at[i];
	}
	return n ? (struct ar_texts){ refs, n } : (struct ar_texts){ 0 };
}

/* Of each stream that is too long to be shown, where it begins. */
static void say_spilled(struct ar_decision *d, const struct ar_ids *ids, const struct ar_process_over *o,
			const struct stored *s)
{
	int said = 0;

	for (size_t i = 0; i < o->kept_count; i++) {
		int stream = (int)o->kept[i].stream;

		if (stream == said)
			continue;
		said = stream;
		ar_decide_spilled(d, ids,
				  &(struct ar_spill){ .owner = AR_OUTPUT_SPILLED_OWNER_PROCESS,
						      .ref = s->refs.at[i],
						      .beginning = o->kept[i].bytes,
						      .size = (int64_t)o->written[stream],
						      .is_cut = kept_of(o, stream) < o->written[stream],
						      .is_binary = o->is_binary,
						      .masked = &o->masked,
						      .further = further_refs(d, o, s, i) });
	}
}

/* Of each stream that is not there as a whole. */
static void say_truncated(struct ar_decision *d, const struct ar_ids *ids, const struct ar_process_over *o,
			  const struct stored *s)
{
	for (int stream = AR_PROC_STDOUT; stream <= AR_PROC_TTY; stream++) {
		struct ar_ids owner = *ids;
		uint64_t kept = kept_of(o, stream);

		if (kept >= o->written[stream])
			continue;
		owner.at[AR_SCOPE_OUTPUT] = s->refs.count ? s->refs.at[0] : o->process;
		ar_decide_emit(d, AR_EV_OUTPUT_TRUNCATED, &owner,
			       &(struct ar_ev_output_truncated){
				       .truncation = AR_OUTPUT_TRUNCATED_TRUNCATION_HEAD_TAIL,
				       .original_size = (int64_t)o->written[stream],
				       .kept_size = (int64_t)kept });
	}
}

/* ---- which fact ---- */

static void completed(struct ar_decision *d, const struct ar_ids *ids, const struct ar_process_over *o,
		      const struct stored *s)
{
	const struct ar_shape_process_ending end = ar_process_ending(d, o);
	bool is_signal = !ar_str_empty(o->end.signal);

	ar_decide_emit(d, AR_EV_PROCESS_COMPLETED, ids,
		       &(struct ar_ev_process_completed){ .exit_code = o->end.exit_code,
							  .duration_ms = o->end.duration_ms,
							  .status = is_signal ? AR_STR("signalled")
									      : AR_STR("exited"),
							  .output_refs = s->refs,
							  .outputs = s->outputs,
							  .end = &end });
}

struct trouble {
	int kind;
	const char *category, *message;
	bool retryable;
};

static struct trouble trouble_of(const struct ar_process_end *e)
{
	static const struct trouble spawn = { AR_PROCESS_FAILED_FAILURE_KIND_SPAWN, "spawn",
					      "the command could not be started", false },
				    boundary = { AR_PROCESS_FAILED_FAILURE_KIND_SANDBOX, "sandbox",
						 "its boundary could not be set up", false },
				    timeout = { AR_PROCESS_FAILED_FAILURE_KIND_TIMEOUT, "timeout",
						"it did not end in time", true },
				    lost = { AR_PROCESS_FAILED_FAILURE_KIND_TRANSPORT, "supervisor_lost",
					     "its supervisor is gone: how it ended is not known", true };

	if (e->outcome == AR_PROC_NOT_STARTED)
		return ar_str_is(e->step, "exec") || ar_str_is(e->step, BARRIER) ? spawn : boundary;
	return e->outcome == AR_PROC_SUPERVISOR_LOST ? lost : timeout;
}

static void failed(struct ar_decision *d, const struct ar_ids *ids, const struct ar_process_over *o,
		   const struct stored *s)
{
	const struct ar_shape_process_ending end = ar_process_ending(d, o);
	struct trouble t = trouble_of(&o->end);
	struct ar_str message = ar_process_text(o->end.message, 4096, ar_str_from(t.message));

	ar_decide_emit(d, AR_EV_PROCESS_FAILED, ids,
		       &(struct ar_ev_process_failed){
			       .failure_kind = t.kind,
			       .error = &(struct ar_shape_failure){ .category = ar_str_from(t.category),
								    .message = message,
								    .retryable = AR_OPT_BOOL(t.retryable) },
			       .duration_ms = AR_OPT_INT(o->end.duration_ms),
			       .output_refs = s->refs,
			       .outputs = s->outputs,
			       .end = &end });
}

static void terminated(struct ar_decision *d, const struct ar_ids *ids, const struct ar_process_over *o,
		       const struct stored *s)
{
	const struct ar_shape_process_ending end = ar_process_ending(d, o);
	bool is_limit = o->end.outcome == AR_PROC_LIMIT_HIT;
	struct ar_str reason = is_limit ? o->end.message : o->end.reason;
	int by = is_limit ? 0 : ar_enum_find(&ar_process_terminated_terminated_by_desc, o->end.by);

	ar_decide_emit(d, AR_EV_PROCESS_TERMINATED, ids,
		       &(struct ar_ev_process_terminated){
			       .terminated_by = by ? by : AR_PROCESS_TERMINATED_TERMINATED_BY_POLICY,
			       .reason = ar_process_text(reason, 1024, AR_STR("no reason was given")),
			       .signal = ar_process_text(o->end.signal, 32, AR_STR_NONE),
			       .exit_code = { o->end.exit_is_known ? o->end.exit_code : 0,
					      o->end.exit_is_known },
			       .output_refs = s->refs,
			       .outputs = s->outputs,
			       .end = &end });
}

static bool is_timeout(const struct ar_process_end *e)
{
	return e->outcome == AR_PROC_TIMED_OUT ||
	       (e->outcome == AR_PROC_ENDED && ar_str_is(e->reason, AR_PROCESS_TIMEOUT));
}

static void say_end(struct ar_decision *d, const struct ar_ids *ids, const struct ar_process_over *o)
{
	struct stored s = store_output(d, o);

	say_spilled(d, ids, o, &s);
	say_truncated(d, ids, o, &s);
	ar_decide_masked(d, ids, s.refs.count ? s.refs.at[0] : ar_decide_content(d, o->text), &o->masked);
	if (o->end.outcome == AR_PROC_EXITED)
		completed(d, ids, o, &s);
	else if (!is_timeout(&o->end) &&
		 (o->end.outcome == AR_PROC_ENDED || o->end.outcome == AR_PROC_LIMIT_HIT))
		terminated(d, ids, o, &s);
	else
		failed(d, ids, o, &s);
}

/* No end is invented for what cannot be reached any more. */
static void say_unavailable(struct ar_decision *d, const struct ar_ids *ids,
			    const struct ar_process_record *p, const struct ar_process_over *o)
{
	struct ar_str why =
		ar_process_text(o->end.message, 1024, AR_STR("nothing is left of it on this host"));

	ar_decide_emit(d, AR_EV_RUNTIME_WARNING, ids,
		       &(struct ar_ev_runtime_warning){
			       .code = AR_STR("process_unavailable"),
			       .message = ar_arena_fmt(d->arena,
						       "process %.*s cannot be reached, and nobody knows how "
						       "it ended: %.*s",
						       AR_STR_ARG(p->id), AR_STR_ARG(why)),
			       .scope = ar_arena_fmt(d->arena, "{\"processId\":\"%.*s\"}",
						     AR_STR_ARG(p->id)) });
	ar_decide_emit(d, AR_EV_SNAPSHOT_REPAIRED, ids,
		       &(struct ar_ev_snapshot_repaired){
			       .reason = AR_STR("a process cannot be reached any more"),
			       .from_sequence = (int64_t)d->head,
			       .to_sequence = (int64_t)d->head,
			       .repaired_fields = AR_TEXTS(AR_STR("processes")),
			       .unavailable = { &p->id, 1 } });
}

/* ---- and what follows ---- */

/* Nobody let it go before the runtime stopped: nothing of it ran, so its call begins anew. */
static void begin_again(struct ar_decision *d, const struct ar_process_record *p)
{
	struct ar_invocation *call;
	struct ar_thread *t;
	struct ar_turn *turn = ar_session_call(d->session, p->call, &call, &t);

	if (!turn || call->stage != AR_CALL_RUNNING || turn->is_interrupted || turn->is_lost)
		return;
	ar_decide_effect(d, AR_EFFECT_TOOL_CANCEL)->tool_cancel = call->id;
	ar_decide_begin_again(d, turn, call, AR_STR("the runtime stopped before the command began"));
	ar_decide_advance(d, turn);
}

enum ar_status ar_decide_process_over(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_process_over *o = d->input->process_end;
	const struct ar_process_record *p = ar_session_process(d->session, o->process);
	struct ar_ids ids;

	(void)err;
	if (!p || !ar_process_is_running(p))
		return AR_OK;
	ids = ar_ids_process(d, p);
	if (o->end.outcome == AR_PROC_UNAVAILABLE) {
		say_unavailable(d, &ids, p, o);
		ar_subagents_settle(d);
		return AR_OK;
	}
	say_end(d, &ids, o);
	ar_decide_effect(d, AR_EFFECT_PROCESS_FORGET)->process_forget = p->handle;
	if (o->end.outcome == AR_PROC_NOT_STARTED && ar_str_is(o->end.step, BARRIER))
		begin_again(d, p);
	ar_task_look_again_for(d, p->turn);
	ar_subagents_settle(d);
	return AR_OK;
}
