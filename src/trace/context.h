/* Ids of traces and spans, and the header that carries them from process to process (W3C Trace Context).
 * Ids are derived from a text that the log has anyway, the id of a turn or a call, so that a restart or
 * another node names the same span. Pure functions, any thread. */
#ifndef AR_TRACE_CONTEXT_H
#define AR_TRACE_CONTEXT_H

#include "arena.h"

#define AR_TRACE_BYTES 16
#define AR_SPAN_BYTES 8
#define AR_TRACEPARENT_LEN 55 /* 00-<32 hex digits>-<16>-<2> */

struct ar_trace_context {
	uint8_t trace[AR_TRACE_BYTES];
	uint8_t span[AR_SPAN_BYTES];
	uint8_t flags;
};

AR_BEGIN_DECLS

/* The trace, or the span, of what that id names in that session (its id): callers may choose ids of turns,
 * and two tenants may choose the same one. */
void ar_trace_of(struct ar_str session, struct ar_str id, uint8_t ret[AR_TRACE_BYTES]);
void ar_span_of(struct ar_str session, struct ar_str id, uint8_t ret[AR_SPAN_BYTES]);

/* Both as lower-case hex digits, as events have them; absent for an absent id. */
struct ar_str ar_trace_text(struct ar_arena *a, struct ar_str session, struct ar_str id);
struct ar_str ar_span_text(struct ar_arena *a, struct ar_str session, struct ar_str id);

/* Reads the span back; false: it is no such text. */
bool ar_span_read(struct ar_str text, uint8_t ret[AR_SPAN_BYTES]);

/* Reads both back. False: they are not such texts. */
bool ar_trace_read(struct ar_str trace, struct ar_str span, struct ar_trace_context *ret);

/* A sampled traceparent of the two as texts; absent if either is. */
struct ar_str ar_traceparent(struct ar_arena *a, struct ar_str trace, struct ar_str span);

/* Reads a traceparent from outside. False: it is none, or names no trace or no span; then it counts as
 * absent, as the recommendation wants it. Later versions may have more behind the flags. */
bool ar_traceparent_parse(struct ar_str text, struct ar_trace_context *ret);

AR_END_DECLS

#endif
