/* `agentctl task` start, pause, resume, retry, cancel, archive: one command of the API each, on one task. */
#include "task/task.h"

#include <string.h>

enum ar_exit ar_task_start(struct ar_ctl *c, struct ar_str task, bool is_agent, struct ar_str key,
			   struct ar_api_reply *ret)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "taskId", task);
	if (is_agent)
		ar_jw_mraw(&w, "worker", AR_STR("{\"kind\":\"agent\"}"));
	ar_jw_mstr(&w, "idempotencyKey", key);
	ar_jw_close(&w);
	return ar_api_call(c, "start_task", ar_ctl_take_buf(c, &body), ret);
}

void ar_task_print_status(struct ar_ctl *c, const struct ar_api_reply *r)
{
	int64_t attempts = ar_api_int(r->doc, "attemptCount");

	if (c->is_json) {
		ar_api_print(c, r);
		return;
	}
	ar_out_line(&c->out, ar_api_str(r->doc, "taskId"));
	if (attempts)
		ar_out_printf(&c->out, "  attempt %lld", (long long)attempts);
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_api_str(r->doc, "status"));
	ar_out_printf(&c->out, "\n");
}

/* A task with a command of its own has its worker by that. */
static enum ar_exit start(struct ar_ctl *c, struct ar_str task)
{
	struct ar_api_reply reply;
	struct ar_str command;
	enum ar_exit exit = ar_task_get(c, task, &reply);

	command = ar_api_str(reply.doc, "command");
	ar_api_fini(&reply);
	if (exit != AR_EXIT_OK)
		return exit;
	exit = ar_task_start(c, task, ar_str_absent(command), AR_STR_NONE, &reply);
	if (exit == AR_EXIT_OK)
		ar_task_print_status(c, &reply);
	ar_api_fini(&reply);
	return exit;
}

static const struct {
	const char *name, *command, *reason; /* reason: the member of that name */
} acts[] = {
	{ "pause", "pause_task", "reason" },	  { "resume", "resume_task", "reason" },
	{ "retry", "retry_task", "retryReason" }, { "cancel", "cancel_task", "reason" },
	{ "archive", "archive_task", "reason" },
};

static enum ar_exit change(struct ar_ctl *c, size_t act, struct ar_str task, const char *reason)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;
	enum ar_exit exit;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "taskId", task);
	ar_jw_mstr(&w, acts[act].reason,
		   reason ? ar_str_from(reason)
			  : ar_arena_fmt(&c->arena, "agentctl task %s", acts[act].name));
	ar_jw_close(&w);
	exit = ar_api_call(c, acts[act].command, ar_ctl_take_buf(c, &body), &reply);
	if (exit == AR_EXIT_OK)
		ar_task_print_status(c, &reply);
	ar_api_fini(&reply);
	return exit;
}

bool ar_task_change(struct ar_ctl *c, const struct ar_ctl_args *a, enum ar_exit *ret)
{
	struct ar_str task = ar_str_from(a->count == 2 ? a->words[1] : NULL);

	if (ar_str_absent(task))
		return false;
	if (strcmp(a->words[0], "start") == 0) {
		*ret = start(c, task);
		return true;
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(acts); i++) {
		if (strcmp(a->words[0], acts[i].name) != 0)
			continue;
		*ret = change(c, i, task, a->values[TASK_REASON]);
		return true;
	}
	return false;
}
