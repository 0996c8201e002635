/* One git on its way: started with a fixed environment, so that nothing of the user, the system or a folder
 * around it configures it, written to and read from until the end of the call, then waited for. One call at a
 * time. */
#ifndef AR_FILES_GIT_CHILD_H
#define AR_FILES_GIT_CHILD_H

#include "work.h"

#include <sys/types.h>

struct ar_git_child {
	struct ar_files_work *work;
	pid_t pid;
	int in, out, err; /* our ends; -1: closed */
	struct ar_buf to_write; /* not handed over yet */
	struct ar_buf ahead; /* read and not asked for yet, from `at` on */
	size_t at;
	struct ar_buf said; /* the beginning of its standard error */
	bool is_late; /* the time of the call was over: it is killed */
};

/* Runs `git args...` (NULL at the end) in the folder; false with the failure in the work: no git. The other
 * functions may be called in any order then, and ar_git_child_close must be. */
bool ar_git_child_open(struct ar_files_work *w, const char *folder, const char *const *args,
		       struct ar_git_child *ret);

/* False: it has ended, or the time is over. What is written goes out in large pieces; flush hands over the
 * rest. */
bool ar_git_child_write(struct ar_git_child *c, struct ar_str bytes);
bool ar_git_child_flush(struct ar_git_child *c);

/* A line without its end, or so many bytes; until the next read. False: it has ended before, the time is
 * over, or a line is longer than 64 KiB. */
bool ar_git_child_line(struct ar_git_child *c, struct ar_str *ret);
bool ar_git_child_bytes(struct ar_git_child *c, size_t len, struct ar_str *ret);

/* Closes its input and reads what it prints until its end into `to` (with a cap; what does not fit is thrown
 * away and sets to->failed); NULL: all is thrown away. */
void ar_git_child_drain(struct ar_git_child *c, struct ar_buf *to);

void ar_git_child_kill(struct ar_git_child *c); /* close() follows */

/* Waits for it; true: it succeeded. `said` stays until fini. */
bool ar_git_child_close(struct ar_git_child *c);
void ar_git_child_fini(struct ar_git_child *c);

#endif
