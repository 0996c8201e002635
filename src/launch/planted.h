/* Git repositories below the root of a workspace. Git, run in one of them, runs what its configuration
 * and hooks name (core.fsmonitor, hooks), so one that a sandboxed command makes or changes is a way out
 * of the sandbox. The kernel cannot forbid a name, so they are looked for afterwards:
 *
 * - an entry named .git below the root: a file or link that changed, or a folder that was made or whose HEAD,
 *   config or hooks changed;
 * - a folder that git would take for a repository without a worktree: HEAD beside config, hooks or objects,
 *   and HEAD, config or hooks changed.
 *
 * "Changed" is by the change time of the inode, which no program can set. The root's own .git is not
 * reported: it is protected (edge/sandbox/protected.c). Opens every folder from the workspace without
 * following a link. Bounded in entries and bytes; the time is the caller's to bound. */
#ifndef AR_LAUNCH_PLANTED_H
#define AR_LAUNCH_PLANTED_H

#include <stdbool.h>
#include <stdint.h>

#define AR_PLANTED_MAX 64 /* found in one search */

struct ar_planted_search {
	int workspace; /* descriptor of the folder */
	/* Microseconds of the clock that file systems take their times from; 0: all are found, changed or
	 * not */
	uint64_t since;
	bool (*is_over)(void *arg); /* no more time is left */
	/* `what` is "plant repository", or "hide" for a folder that was closed to us; the path is relative to
	 * the workspace. False ends the search. */
	bool (*found)(void *arg, const char *what, const char *path);
	void *arg;
};

/* True: every folder was looked at. */
bool ar_planted_find(const struct ar_planted_search *s);

#endif
