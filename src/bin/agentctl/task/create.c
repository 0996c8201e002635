/* `agentctl task create`: a task, what it waits for, and its first run. What is printed of it on standard
 * output is its id alone, as soon as there is one: whatever is refused after that, the task is there. */
#include "resolve.h"
#include "task/task.h"

static void write_acceptance(struct ar_jw *w, const struct ar_ctl_args *a)
{
	if (!a->values[TASK_CHECK] && !a->values[TASK_PERSON])
		return;
	ar_jw_key(w, "acceptance");
	ar_jw_open_array(w);
	if (a->values[TASK_CHECK]) {
		ar_jw_open(w);
		ar_jw_mstr(w, "criterion", AR_STR("check"));
		ar_jw_mstr(w, "command", ar_str_from(a->values[TASK_CHECK]));
		ar_jw_close(w);
	}
	if (a->values[TASK_PERSON]) {
		ar_jw_open(w);
		ar_jw_mstr(w, "criterion", ar_str_from(a->values[TASK_PERSON]));
		ar_jw_mbool(w, "person", true);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

static void write_constraints(struct ar_jw *w, const struct ar_ctl_args *a, uint64_t attempts)
{
	if (!a->values[TASK_MODEL] && !a->values[TASK_MODE] && !attempts)
		return;
	ar_jw_key(w, "constraints");
	ar_jw_open(w);
	ar_jw_mstr(w, "model", ar_str_from(a->values[TASK_MODEL]));
	ar_jw_mstr(w, "mode", ar_str_from(a->values[TASK_MODE]));
	if (attempts) {
		ar_jw_key(w, "retryPolicy");
		ar_jw_open(w);
		ar_jw_mint(w, "maxAttempts", (int64_t)attempts);
		ar_jw_close(w);
	}
	ar_jw_close(w);
}

/* KIND:TARGET */
static void write_delivery(struct ar_jw *w, const char *word)
{
	struct ar_str kind, target = ar_str_split(ar_str_from(word), ':', &kind);

	if (!word)
		return;
	ar_jw_key(w, "delivery");
	ar_jw_open(w);
	ar_jw_mstr(w, "kind", kind);
	ar_jw_mstr(w, "target", target);
	ar_jw_close(w);
}

static struct ar_str write_task(struct ar_ctl *c, const struct ar_ctl_args *a, struct ar_str session,
				uint64_t attempts)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mstr(&w, "objective", ar_str_from(a->words[1]));
	ar_jw_mstr(&w, "title", ar_str_from(a->values[TASK_TITLE]));
	ar_jw_mstr(&w, "command", ar_str_from(a->values[TASK_COMMAND]));
	write_acceptance(&w, a);
	write_constraints(&w, a, attempts);
	write_delivery(&w, a->values[TASK_DELIVER]);
	ar_jw_mstr(&w, "idempotencyKey", ar_str_from(a->values[TASK_KEY]));
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &body);
}

/* ---- what it waits for ---- */

static enum ar_exit link_blocker(struct ar_ctl *c, struct ar_str blocker, struct ar_str task)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;
	enum ar_exit exit;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sourceId", blocker);
	ar_jw_mstr(&w, "targetId", task);
	ar_jw_mstr(&w, "kind", AR_STR("blocks"));
	ar_jw_close(&w);
	exit = ar_api_call(c, "link_tasks", ar_ctl_take_buf(c, &body), &reply);
	ar_api_fini(&reply);
	return exit;
}

static enum ar_exit link_all(struct ar_ctl *c, struct ar_str blockers, struct ar_str task)
{
	enum ar_exit exit = AR_EXIT_OK;
	struct ar_str blocker;

	while (exit == AR_EXIT_OK && blockers.len) {
		blockers = ar_str_split(blockers, ',', &blocker);
		exit = link_blocker(c, blocker, task);
	}
	return exit;
}

/* ---- the command ---- */

static enum ar_exit start(struct ar_ctl *c, const struct ar_ctl_args *a, struct ar_str task)
{
	struct ar_str key = ar_str_from(a->values[TASK_KEY]);
	struct ar_api_reply reply;
	enum ar_exit exit;

	if (!ar_str_absent(key))
		key = ar_arena_fmt(&c->arena, "%.*s:start", AR_STR_ARG(key));
	exit = ar_task_start(c, task, !a->values[TASK_COMMAND], key, &reply);
	if (exit == AR_EXIT_OK)
		ar_ctl_note(c, "%.*s", AR_STR_ARG(ar_api_str(reply.doc, "status")));
	ar_api_fini(&reply);
	return exit;
}

static enum ar_exit make(struct ar_ctl *c, struct ar_str body, struct ar_str *ret_task)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(c, "create_task", body, &reply);

	*ret_task = ar_arena_str(&c->arena, ar_api_str(reply.doc, "taskId"));
	if (exit == AR_EXIT_OK && c->is_json) {
		ar_api_print(c, &reply);
	} else if (exit == AR_EXIT_OK) {
		ar_out_line(&c->out, *ret_task);
		ar_out_printf(&c->out, "\n");
	}
	ar_api_fini(&reply);
	return exit;
}

enum ar_exit ar_task_create(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const char *named = a->values[TASK_SESSION];
	uint64_t attempts = 0;
	struct ar_str session, task;
	enum ar_exit exit;

	if (a->values[TASK_ATTEMPTS] && !ar_str_to_u64(ar_str_from(a->values[TASK_ATTEMPTS]), &attempts))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("such as --attempts 3"),
				       "--attempts needs a number");
	exit = ar_resolve_session(c, named ? named : "last", &session);
	if (exit == AR_EXIT_OK)
		exit = make(c, write_task(c, a, session, attempts), &task);
	if (exit == AR_EXIT_OK)
		exit = link_all(c, ar_str_from(a->values[TASK_AFTER]), task);
	if (exit == AR_EXIT_OK && !a->values[TASK_HOLD])
		exit = start(c, a, task);
	return exit;
}
