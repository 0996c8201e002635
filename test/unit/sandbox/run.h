/* Runs a settled launch with the real agent-init, and stands in for the supervisor: takes its streams,
 * answers its notifications, says GO. */
#ifndef AR_TEST_SANDBOX_RUN_H
#define AR_TEST_SANDBOX_RUN_H

#include "desk.h"

struct run {
	struct ar_buf said; /* stdout and stderr; terminated */
	struct ar_buf ready; /* the JSON of READY; terminated. Of a failure: what failed */
	/* By number: system calls that came to the supervisor. One that a signal interrupts comes twice */
	bool told[512];
	int code; /* -1: it did not run, or no exit came */
};

/* `sh -c script` under the profile; waits for its end, 20 s at most. */
void run_script(struct desk *d, enum ar_sandbox_profile profile, const char *script, struct run *ret);
void run_fini(struct run *r);

#endif
