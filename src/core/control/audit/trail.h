/* The audit trail, as control writes and reads it: the entry of each call that is let through, of
 * refusals, and of what is done to the server as a whole. What an entry says is
 * core/access/audit_act.h; where it is kept is port/store_audit.h. Owner: the loop thread. */
#ifndef AR_CONTROL_TRAIL_H
#define AR_CONTROL_TRAIL_H

#include "control_priv.h"
#include "store_audit.h"

/* The entry of a call that writes, in the call's arena; NULL: the command leaves none. Time and
 * place are the engine's to fill. */
const struct ar_store_audit *ar_trail_of_call(struct ar_call *c);

/* The entry of refusals alike; text in the arena. */
struct ar_store_audit ar_trail_of_refusal(struct ar_control *control, const struct ar_audit *a,
					  struct ar_arena *arena);

/* Writes an entry for a call that writes nothing else, under that name, and goes on when it is durable;
 * if it cannot be written the call is over. */
void ar_trail_then(struct ar_call *c, const char *command, ar_query_fn *then);

/* verify with audit: a page of the chains, which are of all tenants together, so it is the operator's. */
void ar_trail_verify(struct ar_call *c, struct ar_str cursor);

#endif
