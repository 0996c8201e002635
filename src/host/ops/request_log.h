/* One line of the log per answer, as the setting log.requests wants it; more than a few hundred in a
 * second are counted instead. The same lines, and one per call to a model, go to the file of the setting
 * telemetry.request_log. Never content, never secrets, never the query. Owner: the loop thread. */
#ifndef AR_HOST_OPS_REQUEST_LOG_H
#define AR_HOST_OPS_REQUEST_LOG_H

#include "config.h"
#include "log.h"
#include "ops/line_file.h"
#include "session.h"
#include "transport.h"

struct ar_redactor;
struct ar_request_ids;

struct ar_request_log {
	const struct ar_log *log;
	const struct ar_redactor *redactor; /* NULL: nothing is masked */
	struct ar_str runtime_id;
	ar_usec second; /* monotonic: when this one began */
	unsigned lines; /* in this second */
	uint64_t left_out; /* since the last line */
	struct ar_line_file file; /* zeroed: there is none */
	struct ar_log to_file; /* its writer */
	uint64_t dropped; /* lines that are not in the file */
};

/* Opens the file, if the settings name one. */
AR_MUST_USE enum ar_status ar_request_log_open(struct ar_request_log *l, const struct ar_config *c,
					       struct ar_error *err);
void ar_request_log_close(struct ar_request_log *l);

/* Which requests are logged, by the setting. */
void ar_request_log_wire(const struct ar_config *c, struct ar_http_ops *ops);

/* `ids`: those of the request, and what follows from them. */
void ar_request_log_write(struct ar_request_log *l, const struct ar_http_answered *a,
			  const struct ar_request_ids *ids);

/* Facts were committed: calls to models that ended go to the file, which is open. */
void ar_request_log_committed(struct ar_request_log *l, const struct ar_session *s,
			      const struct ar_event *facts, size_t count);

#endif
