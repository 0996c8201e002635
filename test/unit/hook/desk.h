/* Runs handlers on a loop of their own and keeps how they ended. It fails the test when the runner breaks its
 * contract: a callback before start() returned, a second one, one that does not come. */
#ifndef AR_TEST_HOOK_DESK_H
#define AR_TEST_HOOK_DESK_H

#include "hook_runner.h"

#include "cmocka_unit.h"

struct desk_run {
	struct ar_hook_run run;
	struct ar_hook_handler handler;
	struct desk *desk;
	enum ar_hook_outcome outcome;
	char output[300 * 1024], message[512];
	size_t output_len;
	int64_t took_ms;
	bool has_started, is_done;
};

struct desk {
	uv_loop_t loop;
	struct ar_hook_runner *runner;
	size_t open;
};

void desk_init(struct desk *d);
void desk_fini(struct desk *d);

/* A run of a command or, when it starts with http, of an URL. The caller frees it with test_free. */
struct desk_run *desk_start(struct desk *d, const char *command, int64_t timeout_ms);
void desk_wait(struct desk *d); /* until none is open */

/* Start and wait. */
struct desk_run *desk_run(struct desk *d, const char *command, int64_t timeout_ms);

#endif
