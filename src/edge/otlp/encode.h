/* Spans, metrics and log records as messages of OTLP (opentelemetry-proto 1.x). Pure functions, any thread.
 *
 * A record is written as one element of its list; the resource and the scope stand around many of them. The
 * field numbers of the three signals are the same at that level. */
#ifndef AR_OTLP_ENCODE_H
#define AR_OTLP_ENCODE_H

#include "buf.h"
#include "metric.h"
#include "span.h"

AR_BEGIN_DECLS

void ar_otlp_span(struct ar_buf *out, const struct ar_span *s);
void ar_otlp_record(struct ar_buf *out, const struct ar_record *r, ar_usec observed);

/* All metrics, cumulative since `start`; returns how many points. */
size_t ar_otlp_metrics(struct ar_buf *out, const struct ar_metrics *m, ar_usec start, ar_usec now);

/* What everything that is sent has in common: service, version, attributes of the operator. */
struct ar_otlp_source {
	struct ar_attrs resource;
	const char *scope, *version; /* of the program that made the records */
	const char *schema_url;
};

/* The messages of a request that are open while records are added behind them. */
struct ar_otlp_marks {
	size_t all, scope; /* marks */
};

struct ar_otlp_marks ar_otlp_begin(struct ar_buf *out, const struct ar_otlp_source *s);
void ar_otlp_end(struct ar_buf *out, const struct ar_otlp_source *s, struct ar_otlp_marks r);

/* How many records an answer of the collector (Export...ServiceResponse) rejects; 0 also for what is no such
 * answer. */
uint64_t ar_otlp_rejected(struct ar_str answer);

/* `name=value,name=value` with percent-encoded values, as the OTEL_ variables have them. Calls `each` for
 * every pair; false: the text is not of that form, or a pair has a control character. */
bool ar_otlp_pairs(struct ar_str text, struct ar_arena *a,
		   void (*each)(void *arg, struct ar_str name, struct ar_str value), void *arg);

AR_END_DECLS

#endif
