/* See ids.h. */
#include "ids.h"

#include "hash.h"

#include <string.h>
#include <unistd.h>

#define USUAL_FIRST 61000
#define USUAL_LAST 64999
#define SYSTEM_LAST 999
#define RESERVED 65534 /* nobody, and what a user namespace shows for ids it does not know */

enum ar_status ar_sandbox_ids_init(struct ar_sandbox_ids *ret, uint32_t first, uint32_t last,
				   struct ar_error *err)
{
	*ret = (struct ar_sandbox_ids){ .backend = geteuid() == 0 ? AR_PLAN_ROOT : AR_PLAN_USERNS,
					.first = first ? first : USUAL_FIRST,
					.last = last ? last : USUAL_LAST,
					.uid = geteuid(),
					.gid = getegid() };
	if (ret->first <= SYSTEM_LAST || ret->last < ret->first)
		return ar_fail(err, AR_E_INVALID,
			       "sandbox.uid_first and sandbox.uid_last: %u to %u is no range above %d",
			       ret->first, ret->last, SYSTEM_LAST);
	if (ret->first <= RESERVED + 1 && ret->last >= RESERVED)
		return ar_fail(
			err, AR_E_INVALID,
			"sandbox.uid_first and sandbox.uid_last: %u to %u holds the reserved ids %d and %d",
			ret->first, ret->last, RESERVED, RESERVED + 1);
	return AR_OK;
}

uint32_t ar_sandbox_uid_of(const struct ar_sandbox_ids *ids, struct ar_str session_id)
{
	struct ar_hash h = ar_hash_of(session_id);
	uint64_t number;

	if (ids->backend == AR_PLAN_USERNS)
		return ids->uid;
	memcpy(&number, h.b, sizeof(number));
	return ids->first + (uint32_t)(number % (ids->last - ids->first + 1));
}
