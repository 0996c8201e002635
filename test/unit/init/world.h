/* What the tests of agent-init stand on: a workspace with a repository in it, a secret beside it, and a plan
 * for either backend. */
#ifndef AR_TEST_INIT_WORLD_H
#define AR_TEST_INIT_WORLD_H

#include "launched.h"

struct world {
	uid_t starter; /* who starts agent-init: 0, or nobody */
	char base[64], workspace[96], secret[96];
};

/* One test for both backends; as somebody who is not root only one of them is there. */
#define BOTH(test) \
	cmocka_unit_test_prestate_setup_teardown(test, world_open, world_close, (void *)"root"), \
		cmocka_unit_test_prestate_setup_teardown(test, world_open, world_close, (void *)"nobody")
#define ROOT(test) cmocka_unit_test_prestate_setup_teardown(test, world_open, world_close, (void *)"root")

int world_open(void **state);
int world_close(void **state);

/* Skips the test when its backend cannot be had. */
void need(const struct world *w);

/* workspace_write without a network, running `sh -c command`; valid until the next call. */
struct ar_plan *plan_for(const struct world *w, const char *command);

/* Runs a command in this plan's boundary; fails unless it ran. */
void run_in(struct launched *l, const struct world *w, const struct ar_plan *plan);

/* What a command printed to stdout, by plan_for; valid until the next call. */
const char *printed(const struct world *w, const char *command);

/* Path in the workspace; valid until the next call. */
const char *inside(const struct world *w, const char *name);

void write_file(const char *path, const char *text);

#endif
