/* One line of the log per answer, as the setting log.requests wants it; more than a few hundred in a
 * second are counted instead. Never content, never secrets, never the query. Owner: the loop thread. */
#ifndef AR_HOST_OPS_REQUEST_LOG_H
#define AR_HOST_OPS_REQUEST_LOG_H

#include "config.h"
#include "log.h"
#include "transport.h"

struct ar_redactor;

struct ar_request_log {
	const struct ar_log *log;
	const struct ar_redactor *redactor; /* NULL: nothing is masked */
	ar_usec second; /* monotonic: when this one began */
	unsigned lines; /* in this second */
	uint64_t left_out; /* since the last line */
};

/* Which requests are logged, by the setting. */
void ar_request_log_wire(const struct ar_config *c, struct ar_http_ops *ops);

void ar_request_log_write(struct ar_request_log *l, const struct ar_http_answered *a);

#endif
