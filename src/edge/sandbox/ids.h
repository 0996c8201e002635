/* As whom a process runs. A daemon of root gives each session a uid of its own out of a range that
 * belongs to nobody; any other daemon stays who it is, inside a user namespace. Pure. */
#ifndef AR_SANDBOX_IDS_H
#define AR_SANDBOX_IDS_H

#include "plan.h"
#include "status.h"
#include "str.h"

struct ar_sandbox_ids {
	enum ar_plan_backend backend;
	uint32_t first, last; /* ROOT: the range; USERNS: unused */
	uint32_t uid, gid; /* USERNS: our own */
};

AR_BEGIN_DECLS

/* Zeroes mean the usual range. AR_E_INVALID: a range that is empty or reaches ids of the system. */
AR_MUST_USE enum ar_status ar_sandbox_ids_init(struct ar_sandbox_ids *ret, uint32_t first, uint32_t last,
					       struct ar_error *err);

/* The uid of a session, also used as its gid: always the same one, never 0. */
uint32_t ar_sandbox_uid_of(const struct ar_sandbox_ids *ids, struct ar_str session_id);

AR_END_DECLS

#endif
