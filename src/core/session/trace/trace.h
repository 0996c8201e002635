/* To which trace and span a fact belongs. Both follow from the fact alone, so that every reader of the log
 * finds what was exported. Pure. */
#ifndef AR_SESSION_TRACE_TRACE_H
#define AR_SESSION_TRACE_TRACE_H

#include "context.h"
#include "session.h"

/* The id whose trace the fact is in: of its turn, else of its run, else of the evidence; absent: it is in
 * none. */
struct ar_str ar_trace_subject(const struct ar_event *e);

/* The id whose span the fact is in: the narrowest of process, tool call, model request, run of a hook,
 * attempt, turn. Facts that are a span of their own (context, artifacts, evidence) have their own event
 * id. */
struct ar_str ar_trace_span_subject(const struct ar_event *e);

/* Fills traceId and spanId of a fact that is about to be emitted. */
void ar_trace_name(struct ar_decision *d, struct ar_event *e);

/* The traceparent of the span of `id` in the trace of `subject`; absent if either is. */
struct ar_str ar_trace_parent(struct ar_session *s, struct ar_arena *a, struct ar_str subject,
			      struct ar_str id);

/* The span of an id. */
void ar_trace_span_of(const struct ar_session *s, struct ar_str id, uint8_t ret[AR_SPAN_BYTES]);

#endif
