/* What the command reads and writes, and the other ends for its supervisor. */
#ifndef AR_INIT_STREAMS_H
#define AR_INIT_STREAMS_H

#include "init.h"

/* Before anything is opened: descriptors 0 to 2 are there and lead nowhere, but for 0 when the plan says that
 * it is given; above AR_INIT_PLAN_FD nothing is open, and our socket is for nobody else. */
int ar_streams_clear(struct ar_init *in);

/* Instead of those that came at the start: what is given to a command that was not known then. `stdin_fd` -1:
 * none; all are taken. */
int ar_streams_set_given(struct ar_init *in, int stdin_fd, const int *given, size_t count);

/* As the command's user, so that it may open its own /dev/stdout: pipes or a terminal in in->stdio, their
 * other ends in in->fds. */
int ar_streams_open(struct ar_init *in);

/* Closes what was handed out. */
void ar_streams_close_passed(struct ar_init *in);

/* In the new process: its ends become 0, 1 and 2, a terminal that of its session. */
int ar_streams_set_stdio(const struct ar_init *in);

/* In the reaper, once the command has its ends. */
void ar_streams_close(struct ar_init *in);

#endif
