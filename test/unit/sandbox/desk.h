/* A folder of its own with a workspace, a home and an agent-init that says what the test wants; sandboxes
 * opened there, and launches settled. One per test. */
#ifndef AR_TEST_SANDBOX_DESK_H
#define AR_TEST_SANDBOX_DESK_H

#include "boundary.h"
#include "buf.h"
#include "assess.h"
#include "unit.h"

struct desk {
	char base[64]; /* of all that the test makes */
	char workspace[80]; /* belongs to uid 1000 when we are root */
	struct ar_arena arena;
	struct ar_sandbox_options options; /* of desk_open(); changed by the test before */
	struct ar_sandbox *sandbox;
	struct ar_process_spec spec; /* of desk_plan(): `true` in the workspace */
	struct ar_launch launch;
	struct ar_error err;
};

struct desk *desk_new(void);
void desk_free(struct desk *d); /* removes the folder */

/* A path in the folder, as printf; in the arena. */
const char *desk_path(struct desk *d, const char *fmt, ...) AR_PRINTF(2, 3);

/* Writes a file, folders on the way included. */
void desk_file(struct desk *d, const char *path, const char *text);
void desk_folder(struct desk *d, const char *path);
void desk_link(struct desk *d, const char *path, const char *target);

/* What the self-test will say: all works but these names (commas between them). */
void desk_probe(struct desk *d, const char *without);

void desk_open(struct desk *d);
enum ar_status desk_plan(struct desk *d, enum ar_sandbox_profile profile);

bool desk_has(const struct ar_plan_paths *list, const char *path);
const char *desk_env(const struct ar_plan *p, const char *name); /* NULL: not set */

#endif
