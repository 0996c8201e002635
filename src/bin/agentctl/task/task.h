/* Tasks on the command line: what list.c has for task.c. */
#ifndef AR_BIN_CTL_TASK_H
#define AR_BIN_CTL_TASK_H

#include "api.h"

/* Prints the tasks of the session, or the open ones of all sessions; with is_all those that ended, too. */
enum ar_exit ar_task_list(struct ar_ctl *c, const char *session, bool is_all);

#endif
