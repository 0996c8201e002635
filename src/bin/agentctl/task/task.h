/* Tasks on the command line: what the files of `agentctl task` share. */
#ifndef AR_BIN_CTL_TASK_H
#define AR_BIN_CTL_TASK_H

#include "api.h"

enum {
	TASK_ALL,
	TASK_ASCII,
	TASK_SESSION,
	TASK_TITLE,
	TASK_AFTER,
	TASK_CHECK,
	TASK_PERSON,
	TASK_COMMAND,
	TASK_ATTEMPTS,
	TASK_MODEL,
	TASK_MODE,
	TASK_DELIVER,
	TASK_HOLD,
	TASK_KEY,
	TASK_REASON,
	TASK_TIMEOUT,
};

/* list.c: the tasks of the session, or the open ones of all sessions; with is_all those that ended, too. */
enum ar_exit ar_task_list(struct ar_ctl *c, const char *session, bool is_all);

/* graph.c */
enum ar_exit ar_task_graph(struct ar_ctl *c, const struct ar_ctl_args *a);

/* show.c. `ret` always wants fini. */
enum ar_exit ar_task_get(struct ar_ctl *c, struct ar_str task, struct ar_api_reply *ret);
enum ar_exit ar_task_show(struct ar_ctl *c, struct ar_str task);

/* create.c */
enum ar_exit ar_task_create(struct ar_ctl *c, const struct ar_ctl_args *a);

/* change.c: start_task; `ret` always wants fini. And the words that change one task: false, it is none. */
enum ar_exit ar_task_start(struct ar_ctl *c, struct ar_str task, bool is_agent, struct ar_str key,
			   struct ar_api_reply *ret);
void ar_task_print_status(struct ar_ctl *c, const struct ar_api_reply *r); /* of an answer that has one */
bool ar_task_change(struct ar_ctl *c, const struct ar_ctl_args *a, enum ar_exit *ret);

/* wait.c: timeout is a span, or NULL. */
enum ar_exit ar_task_wait(struct ar_ctl *c, struct ar_str task, const char *timeout);

#endif
