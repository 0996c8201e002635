/* The boundary that the settings describe, opened: what this host can enforce is found out here, once. */
#ifndef AR_HOST_SANDBOX_OPEN_H
#define AR_HOST_SANDBOX_OPEN_H

#include "boundary.h"
#include "config.h"
#include "gate.h"

/* The profile that the settings name. */
enum ar_sandbox_profile ar_host_sandbox_profile(const struct ar_config *c);

/* Fails on an invalid setting; err names it. Where nothing can be enforced it opens all the same. */
AR_MUST_USE enum ar_status ar_host_sandbox_open(const struct ar_config *c, struct ar_sandbox **ret,
						struct ar_error *err);

/* The secrets that the proxy gives, in the arena; how many. */
size_t ar_host_sandbox_hidden(const struct ar_config *c, struct ar_arena *a,
			      const struct ar_egress_hidden **ret);

#endif
