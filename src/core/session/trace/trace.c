/* See trace.h. */
#include "trace/trace.h"

#include <string.h>

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

/* ---- ids that were derived already ---- */

#define KEPT 8 /* a turn with a call of a tool has five spans */
#define ID_KEPT ((size_t)48) /* ids of ours are shorter; what a longer one gives is not kept */

struct derived {
	char id[ID_KEPT], text[2 * AR_TRACE_BYTES];
	size_t id_len, text_len;
};

struct derived_list {
	struct derived at[KEPT];
	size_t next; /* the oldest */
};

/* Most facts of a turn are in one of a few spans, and a hash costs more than all else of a fact's ids. */
struct ar_trace_memo {
	struct derived_list traces, spans;
};

typedef struct ar_str derive_fn(struct ar_arena *a, struct ar_str session, struct ar_str id);

static void keep_text(struct derived_list *list, struct ar_str id, struct ar_str text)
{
	struct derived *oldest = &list->at[list->next];

	if (id.len > ID_KEPT)
		return;
	list->next = (list->next + 1) % KEPT;
	memcpy(oldest->id, id.p, id.len);
	memcpy(oldest->text, text.p, text.len);
	oldest->id_len = id.len;
	oldest->text_len = text.len;
}

static struct ar_str kept_text(const struct derived_list *list, struct ar_str id)
{
	for (size_t i = 0; i < KEPT; i++) {
		const struct derived *k = &list->at[i];

		if (ar_str_eq((struct ar_str){ k->id, k->id_len }, id))
			return (struct ar_str){ k->text, k->text_len };
	}
	return AR_STR_NONE;
}

static struct ar_str text_of(const struct ar_session *s, struct ar_arena *a, derive_fn *derive,
			     struct ar_str id, struct derived_list *list)
{
	struct ar_str text = kept_text(list, id);

	if (!ar_str_absent(text))
		return ar_arena_str(a, text);
	text = derive(a, s->id, id);
	keep_text(list, id, text);
	return text;
}

static struct ar_trace_memo *memo_of(struct ar_session *s)
{
	if (!s->trace_memo) {
		s->trace_memo = ar_arena_room(&s->arena, sizeof(*s->trace_memo));
		memset(s->trace_memo, 0, sizeof(*s->trace_memo));
	}
	return s->trace_memo;
}

void ar_trace_name(struct ar_decision *d, struct ar_event *e)
{
	struct ar_str subject = ar_trace_subject(e);
	struct ar_trace_memo *memo;

	if (ar_str_absent(subject))
		return;
	memo = memo_of(d->session);
	e->ids[AR_SCOPE_TRACE] = text_of(d->session, d->arena, ar_trace_text, subject, &memo->traces);
	e->ids[AR_SCOPE_SPAN] =
		text_of(d->session, d->arena, ar_span_text, ar_trace_span_subject(e), &memo->spans);
}

struct ar_str ar_trace_parent(struct ar_session *s, struct ar_arena *a, struct ar_str subject,
			      struct ar_str id)
{
	struct ar_trace_memo *memo;

	if (ar_str_absent(subject) || ar_str_absent(id))
		return AR_STR_NONE;
	memo = memo_of(s);
	return ar_traceparent(a, text_of(s, a, ar_trace_text, subject, &memo->traces),
			      text_of(s, a, ar_span_text, id, &memo->spans));
}

void ar_trace_span_of(const struct ar_session *s, struct ar_str id, uint8_t ret[AR_SPAN_BYTES])
{
	struct ar_str text = s->trace_memo ? kept_text(&s->trace_memo->spans, id) : AR_STR_NONE;

	if (!ar_span_read(text, ret))
		ar_span_of(s->id, id, ret);
}
