/* See trace.h. */
#include "trace/trace.h"
#include "context.h"

struct ar_str ar_trace_subject(const struct ar_event *e)
{
	static const enum ar_scope order[] = { AR_SCOPE_TURN, AR_SCOPE_RUN, AR_SCOPE_EVIDENCE };

	for (size_t i = 0; i < AR_ARRAY_LEN(order); i++) {
		if (!ar_str_absent(e->ids[order[i]]))
			return e->ids[order[i]];
	}
	return AR_STR_NONE;
}

/* Of a fact that is no part of a longer span; absent: it is. */
static struct ar_str own_span(const struct ar_event *e)
{
	switch (e->type) {
	case AR_EV_CONTEXT_RESOLVED:
	case AR_EV_EVIDENCE_CHANGED:
	case AR_EV_HOOK_STARTED:
		return e->event_id;
	case AR_EV_HOOK_COMPLETED:
		return ((const struct ar_ev_hook_completed *)e->payload)->hook_run_ref;
	case AR_EV_HOOK_FAILED:
		return ((const struct ar_ev_hook_failed *)e->payload)->hook_run_ref;
	case AR_EV_ARTIFACT_CHANGED: {
		const struct ar_ev_artifact_changed *p = e->payload;

		return p->change == AR_ARTIFACT_CHANGED_CHANGE_PRODUCED ||
				       p->change == AR_ARTIFACT_CHANGED_CHANGE_UPDATED
			       ? e->event_id
			       : AR_STR_NONE;
	}
	case AR_EV_TASK_ATTEMPT_STARTED:
	case AR_EV_TASK_ATTEMPT_COMPLETED:
	case AR_EV_TASK_ATTEMPT_FAILED:
		return e->ids[AR_SCOPE_RUN];
	default:
		return AR_STR_NONE;
	}
}

struct ar_str ar_trace_span_subject(const struct ar_event *e)
{
	static const enum ar_scope order[] = { AR_SCOPE_PROCESS, AR_SCOPE_TOOL_CALL, AR_SCOPE_MODEL_REQUEST };
	struct ar_str own = own_span(e);

	if (!ar_str_absent(own))
		return own;
	/* Its toolCallId is a word of the standard, of no call. */
	if (e->type == AR_EV_TOOL_CATALOG_RESOLVED)
		return ar_trace_subject(e);
	for (size_t i = 0; i < AR_ARRAY_LEN(order); i++) {
		if (!ar_str_absent(e->ids[order[i]]))
			return e->ids[order[i]];
	}
	return ar_trace_subject(e);
}

void ar_trace_name(struct ar_decision *d, struct ar_event *e)
{
	struct ar_str subject = ar_trace_subject(e);

	if (ar_str_absent(subject))
		return;
	if (!ar_str_eq(subject, d->traced)) {
		d->traced = subject;
		d->trace = ar_trace_text(d->arena, e->session_id, subject);
	}
	e->ids[AR_SCOPE_TRACE] = d->trace;
	e->ids[AR_SCOPE_SPAN] = ar_span_text(d->arena, e->session_id, ar_trace_span_subject(e));
}
