/* A daemon and a folder that are thrown away, with a model whose answers are known: for `agentctl demo` and
 * `agentctl replay`. A process of its own is the model and outlives this one: when this one ends, in
 * whatever way, it stops the daemon and removes the folder. */
#ifndef AR_CTL_THROWAWAY_H
#define AR_CTL_THROWAWAY_H

#include "ctl.h"
#include "first/recorded.h"

#include <sys/types.h>

#define AR_THROWAWAY_NOBODY 65534

struct ar_throwaway {
	const char *name; /* in the name of the folder; set by the caller */
	char *dir;
	const char *project; /* folder in it to work in; also the current one */
	int alive; /* closed when we end */
	pid_t server;
};

/* Makes the folder and the model, and sets place and environment of a daemon, which is not started yet.
 * Nothing that the person has set for daemons and models counts there. False: errno says why. */
bool ar_throwaway_begin(struct ar_ctl *c, struct ar_throwaway *t, ar_recorded_fn *answer, void *arg);

/* Returns when the daemon is stopped and the folder removed. */
void ar_throwaway_end(struct ar_throwaway *t);

/* A folder of root's would be one of the system: commands there need no rights. */
bool ar_throwaway_make_folder(int at, const char *name);

#endif
