/* The hooks of the configuration, as the core's rules and as handlers that are run. */
#ifndef AR_HOST_HOOKS_H
#define AR_HOST_HOOKS_H

#include "arena.h"
#include "config.h"
#include "hook.h"
#include "session.h"

struct ar_host_hooks {
	struct ar_hook_rule *rules; /* in the order of the file */
	struct ar_hook_handler *handlers; /* the same ones */
	size_t count;
};

/* AR_E_INVALID: an entry has neither or both of command and url; err names it. */
AR_MUST_USE enum ar_status ar_host_hooks_read(const struct ar_config *c, struct ar_arena *a,
					      struct ar_host_hooks *ret, struct ar_error *err);

#endif
