/* A shim that was started before there was a command: it has an agent-init that waits, and becomes the
 * supervisor of one process or of none. */
#ifndef AR_SHIM_PREWARM_H
#define AR_SHIM_PREWARM_H

#include "init_wire.h"

#include <stdbool.h>
#include <stddef.h>

struct ar_shim;

struct ar_prewarm {
	int fds[AR_INIT_PLAN_FDS_MAX]; /* that LAUNCH brought, for agent-init */
	size_t count;
	bool is_taken; /* LAUNCH came */
	bool is_unwanted; /* nobody is left who could say so, or agent-init cannot */
};

/* Waits for LAUNCH. False: there will be none; nothing of the prewarmed sandbox is left, nor its folder. */
bool ar_prewarm_wait(struct ar_shim *s, const char *folder);

/* Instead of starting agent-init: hands it the plan, which is removed from the folder. False as
 * ar_start_init(). */
bool ar_prewarm_send_plan(struct ar_shim *s, const char **ret_step);

#endif
