/* Starts the command itself. */
#ifndef AR_INIT_COMMAND_H
#define AR_INIT_COMMAND_H

#include "init.h"

/* In a session of its own, with the environment of the plan and nothing else. Its pid once execve has
 * succeeded; -1 with errno when it did not. */
pid_t ar_command_start(struct ar_init *in);

#endif
