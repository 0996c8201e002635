/* What lists say of sessions that cannot be read: unknown, whatever their rows in the index say. */
#ifndef AR_CONTROL_DEGRADED_H
#define AR_CONTROL_DEGRADED_H

#include "control_priv.h"

/* Whether the session is known to be damaged so that nobody can tell what it is. */
bool ar_call_cannot_read(const struct ar_call *c, struct ar_str session_key);

/* The record with status unknown, and nothing that says how it went. */
void ar_record_write_unknown(struct ar_call *c, struct ar_str record, bool with_degraded, struct ar_jw *w);

/* A session as its row says, or that it is degraded or unknown. */
void ar_list_write_session(struct ar_call *c, struct ar_str session_key, struct ar_str shell,
			   struct ar_jw *w);

/* A page of sessions as a JSON object. With a status only those that have it: the store was asked for them,
 * or for all if it is unknown, which no row says. A page may be shorter for it. */
void ar_list_write_sessions(struct ar_call *c, const struct ar_store_sessions *found, struct ar_str status,
			    struct ar_jw *w);
bool ar_list_is_unknown(struct ar_str status);

#endif
