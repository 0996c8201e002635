/* What is given every fact after it was committed: telemetry, the log of requests, checkpoints of logs. Each
 * of them only if the settings want it. Owner: the loop thread. */
#ifndef AR_HOST_OBSERVERS_H
#define AR_HOST_OBSERVERS_H

#include "config.h"
#include "session.h"

struct ar_host;

/* Before the engine is made. */
AR_MUST_USE enum ar_status ar_observers_open(struct ar_host *r, const struct ar_config *c,
					     struct ar_error *err);

/* Whether there are any: the engine need not ask otherwise. */
bool ar_observers_are_there(const struct ar_host *r);

/* on_committed of the engine; `host` is the struct ar_host. */
void ar_observers_committed(void *host, const struct ar_session *s, const struct ar_event *facts,
			    size_t count);

/* When the loop has run to its end. */
void ar_observers_free(struct ar_host *r);

#endif
