/* agent-init as the shim sees it: started with the plan, ready, let go, ended. */
#ifndef AR_SHIM_START_H
#define AR_SHIM_START_H

#include "init_wire.h"
#include "json.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ar_loop;
struct ar_shim;

struct ar_init_child {
	pid_t pid; /* agent-init as we started it; 0: reaped */
	int status; /* of waitpid(), once reaped */
	int socket; /* -1: it has closed */
	unsigned given; /* descriptors behind AR_SHIM_FD that it gets; they are closed here then */
	pid_t first; /* the namespace's first process, seen from here */
	int fds[AR_INIT_FD_COUNT]; /* as READY brought them; -1: not there. Streams and input take theirs */
	bool is_ready;
	bool go_came; /* before it was ready */
	bool is_released;
	bool has_started; /* the command runs, and the journal says so */
	bool is_empty; /* no descendant is left */
	bool has_exit; /* the command itself ended, as below */
	int exit_code, exit_signal;
	uint64_t user_ms, system_ms, max_rss_kb;
	uint64_t released_at, exited_at; /* 0: not yet */
};

/* Starts it, in a session of its own later, with this file of the folder as its plan, which is removed.
 * False: *ret_step could not be done, errno says why. */
bool ar_start_init(struct ar_shim *s, const char *file, const char **ret_step);

void ar_start_watch(struct ar_shim *s, struct ar_loop *l);
void ar_start_go(struct ar_shim *s); /* the daemon's GO; a second one changes nothing */
bool ar_start_signal(struct ar_shim *s, int number); /* to the command's process group */
void ar_start_read(struct ar_shim *s); /* all messages of agent-init that are not read yet */

#endif
