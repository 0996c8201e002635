/* Checkpoints of logs: how many facts the log of a session has and the root of the hash tree over them,
 * signed, in a file, at the system log or at an address. Who changes the stored log later cannot change those
 * (docs/evidence.md). Made beside the work, every few seconds, from what is stored; a commit only notes which
 * session changed. Without a setting there is nothing of it. Owner: the loop thread. */
#ifndef AR_HOST_LOG_CHECKPOINTS_H
#define AR_HOST_LOG_CHECKPOINTS_H

#include "config.h"
#include "session.h"

struct ar_host;
struct ar_log_checkpoints;

/* Whether the settings can be used. */
AR_MUST_USE enum ar_status ar_log_checkpoints_check(const struct ar_config *c, struct ar_error *err);

/* Sets r->log_checkpoints. */
AR_MUST_USE enum ar_status ar_log_checkpoints_open(struct ar_host *r, const struct ar_config *c,
						   struct ar_error *err);

/* The log of the session has new facts. */
void ar_log_checkpoints_committed(struct ar_log_checkpoints *k, const struct ar_session *s);

/* NULL is allowed. Free it when the loop has run to its end. */
void ar_log_checkpoints_close(struct ar_log_checkpoints *k);
void ar_log_checkpoints_free(struct ar_log_checkpoints *k);

#endif
