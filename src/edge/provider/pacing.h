/* What a provider says about pace: how long to wait, how much is left. Read from response headers whose names
 * and formats differ by vendor. Pure. */
#ifndef AR_PROVIDER_PACING_H
#define AR_PROVIDER_PACING_H

#include "provider.h"

/* Where headers come from; the value is valid until the next call. */
struct ar_header_source {
	struct ar_str (*get)(const void *owner, const char *name);
	const void *owner;
};

AR_BEGIN_DECLS

/* From `retry-after-ms` (first choice) and `retry-after` (seconds or HTTP date). 0 when neither says anything
 * of use; at most one day. */
int64_t ar_pacing_retry_after(const struct ar_header_source *headers, ar_usec wall_now);

/* Limits by kind, from the x-ratelimit- and anthropic-ratelimit- families. */
void ar_pacing_limits(const struct ar_header_source *headers, ar_usec wall_now,
		      struct ar_rate_limit limits[AR_RATE_KINDS]);

/* When the last exhausted limit is filled again; 0 when none is exhausted or nothing is known. */
int64_t ar_pacing_reset(const struct ar_rate_limit limits[AR_RATE_KINDS]);

/* "34s", "6m0s", "20ms", "1h2m3.5s" in milliseconds; 0 for anything else; at most one day. */
int64_t ar_pacing_duration(struct ar_str text);

AR_END_DECLS

#endif
