/* Traces, metrics and logs for an OpenTelemetry collector: the settings, the senders (edge/otlp), and which
 * facts and answers become what (core/telemetry). Without an address in the settings there is nothing of it.
 * Owner: the loop thread. */
#ifndef AR_HOST_TELEMETRY_H
#define AR_HOST_TELEMETRY_H

#include "config.h"
#include "engine.h"
#include "transport.h"

struct ar_host;
struct ar_request_ids;
struct ar_host_telemetry;

/* Whether the settings can be used. */
AR_MUST_USE enum ar_status ar_host_telemetry_check(const struct ar_config *c, struct ar_error *err);

/* Sets r->telemetry, and r->policy.is_traced if traces are exported. */
AR_MUST_USE enum ar_status ar_host_telemetry_open(struct ar_host *r, const struct ar_config *c,
						  struct ar_error *err);

/* Facts that were committed; `s` is the session with them. */
void ar_host_telemetry_committed(struct ar_host_telemetry *t, const struct ar_session *s,
				 const struct ar_event *facts, size_t count);

/* A request that log.requests selects was answered; `ids` with those that follow from its own. NULL is
 * allowed, as in all below. */
void ar_host_telemetry_request(struct ar_host_telemetry *t, const struct ar_http_answered *a,
			       const struct ar_request_ids *ids);

/* Sets the metrics about it. */
void ar_host_telemetry_measure(const struct ar_host_telemetry *t, struct ar_metrics *m);

/* Sends what is there for a moment; free it when the loop has run to its end. */
void ar_host_telemetry_close(struct ar_host_telemetry *t);
void ar_host_telemetry_free(struct ar_host_telemetry *t);

#endif
