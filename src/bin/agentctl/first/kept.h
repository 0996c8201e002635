/* The answers of `agentctl setup`: variables that a daemon is started with where the environment names no
 * model. They are in one file of the user, agentd/environment in XDG_CONFIG_HOME or ~/.config, NAME=value in
 * each line, which only its owner can read: a key may be among them. One thread. */
#ifndef AR_CTL_KEPT_H
#define AR_CTL_KEPT_H

#include "ctl.h"

#define AR_KEPT_MAX 4 /* answers of one dialogue */

struct ar_kept {
	struct {
		const char *variable, *value;
	} at[AR_KEPT_MAX];
	size_t count;
};

/* Path of the file; NULL: the environment names no home. */
const char *ar_kept_path(struct ar_ctl *c);

/* Whether the environment or a settings file names a model: then what was kept is not used. */
bool ar_kept_is_overridden(struct ar_ctl *c);

/* Puts what was kept into our environment. Nothing where it is overridden, where others can read or change
 * the file, and where another ordinary user listens on the port of this machine that it names: what is typed
 * and the files that are read would go to them. */
void ar_kept_load(struct ar_ctl *c);

/* Replaces the file. Failure has been said on standard error. */
AR_MUST_USE enum ar_exit ar_kept_save(struct ar_ctl *c, const struct ar_kept *what);

/* Removes the file. */
AR_MUST_USE enum ar_exit ar_kept_remove(struct ar_ctl *c);

#endif
