/* A shell command as a child of ours: in a session and process group of its own, so that it and what it
 * starts can be ended as one. Reading what it says and waiting for it is left to the owner, who watches the
 * descriptors. Belongs to the loop thread. */
#ifndef AR_HOOK_CHILD_H
#define AR_HOOK_CHILD_H

#include "status.h"
#include "str.h"

#include <sys/types.h>

struct ar_child {
	pid_t pid; /* also the id of its group */
	int exit_fd; /* readable when it has ended */
	int out_fd, err_fd; /* its standard output and error; they do not block */
};

struct ar_child_options {
	const char *command; /* for /bin/sh -c */
	char *const *environment;
	struct ar_str input; /* all it finds at its standard input */
};

AR_BEGIN_DECLS

/* On success the child runs and ar_child_end is due. */
AR_MUST_USE enum ar_status ar_child_start(const struct ar_child_options *o, struct ar_child *ret,
					  struct ar_error *err);

/* To every process of its group. The group is ours until ar_child_end, even when the child itself has
 * ended. */
void ar_child_signal(const struct ar_child *c, int signum);

bool ar_child_has_exited(const struct ar_child *c);

/* Kills what is left of the group, waits for the child and closes the descriptors. Returns its status as
 * waitpid has it. Waits for the kernel only: nothing survives SIGKILL. */
int ar_child_end(struct ar_child *c);

AR_END_DECLS

#endif
