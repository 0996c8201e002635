/* The user's daemon: is it there, who has its store, where is its program, start it. */
#ifndef AR_CTL_DAEMON_H
#define AR_CTL_DAEMON_H

#include "ctl.h"

#include <sys/types.h>

struct ar_start_file;

/* Whether somebody answers GET /health at the daemon's place. */
bool ar_daemon_answers(struct ar_ctl *c);

/* The process that has a lock on a `*.lock` file in the data folder; 0 when there is none. It looks into the
 * kernel's table of locks and takes none: a lock taken for a look could turn a starting daemon away. */
pid_t ar_daemon_holder(const char *data_dir);

/* Makes the folder and what is missing above it; only we may look in. */
bool ar_daemon_make_folder(const char *path);

/* Path of the agentd program: beside this one, else in PATH; NULL when there is none. */
const char *ar_daemon_program(struct ar_ctl *c);

/* Returns when a daemon answers. Starts one if there is none and the place is the unix socket, with the
 * settings file that the last daemon of the data folder had; of two that start at once the one that gets the
 * store stays, and both clients use it. Failure has been said on standard error. */
AR_MUST_USE enum ar_exit ar_daemon_ensure(struct ar_ctl *c);

/* The environment that a daemon of this place is started with: ours, and where neither a settings file nor a
 * variable decides about them, a folder for workspaces, which the daemon makes, and the permission mode
 * on_request. Kept for the invocation. */
char **ar_daemon_environ(struct ar_ctl *c, const struct ar_start_file *last);

/* Says where the settings of this environment differ from those of the daemon that runs: it has read its own
 * when it was started. */
void ar_daemon_compare(struct ar_ctl *c);

/* Whether a daemon that answered before answers again within a few seconds. Starts none. */
bool ar_daemon_returns(struct ar_ctl *c);

/* The command that starts the daemon of this place, for people. */
const char *ar_daemon_how_to_start(struct ar_ctl *c);

/* The first line that `program --version` prints; absent when it says nothing within two seconds. */
struct ar_str ar_daemon_version(struct ar_ctl *c, const char *program);

/* What `agentd check --secrets` says about the settings that a daemon would start with here, as it writes it
 * to standard error; absent when it cannot be asked. *ret_is_good: agentd would start. */
struct ar_str ar_daemon_check(struct ar_ctl *c, const char *program, bool *ret_is_good);

/* What `agentd sandbox --json` finds out with the settings that a daemon would start with here; absent when
 * it cannot be asked. */
struct ar_str ar_daemon_sandbox(struct ar_ctl *c);

#endif
