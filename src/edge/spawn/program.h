/* Starts a program: which descriptors it gets, where it stands, signals as a program expects them. What it is
 * for, how it is watched and who ends it is left to the caller. No state; loop thread. */
#ifndef AR_SPAWN_PROGRAM_H
#define AR_SPAWN_PROGRAM_H

#include "str.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define AR_SPAWN_FDS_MAX 20

struct ar_spawn {
	const char *program; /* a path, or a name for our PATH */
	char *const *argv, *const *envp; /* NULL at the end; the environment is exactly this */
	const char *workdir; /* NULL: ours */
	int fds[AR_SPAWN_FDS_MAX]; /* ours, that become its 0, 1, ...; none below the number it becomes */
	size_t fd_count; /* it gets no other */
	bool has_session; /* a session of its own; otherwise a process group of its own */
};

AR_BEGIN_DECLS

/* 0 and its id, or the errno of what failed. */
AR_MUST_USE int ar_spawn(const struct ar_spawn *s, pid_t *ret);

/* What a program is given to read: a sealed file in memory, at its beginning. Unlike a pipe it has no writing
 * side that one which does not read could block or break. -1 and errno. */
int ar_spawn_input(struct ar_str bytes);

AR_END_DECLS

#endif
