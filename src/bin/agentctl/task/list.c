/* `agentctl task list`: the tasks of all sessions, or of one, with their states. */
#include "task/task.h"
#include "resolve.h"

#define TASKS 1000 /* that are printed, and the rest of the last page */
#define TEXT_WIDTH 60
#define STATUS_WIDTH 20

struct listing {
	struct ar_ctl *ctl;
	struct ar_str session; /* absent: of all */
	bool is_all;
	struct ar_str cursor;
	size_t count;
};

static struct ar_str body_of(struct listing *l)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", l->session);
	if (l->is_all)
		ar_jw_mbool(&w, ar_str_absent(l->session) ? "withEnded" : "includeArchived", true);
	ar_jw_mstr(&w, "cursor", l->cursor);
	ar_jw_close(&w);
	return ar_ctl_take_buf(l->ctl, &body);
}

static void print_json(struct ar_ctl *c, struct ar_json task)
{
	struct ar_buf text = { 0 };

	ar_json_print(task, &text);
	ar_buf_addc(&text, '\n');
	ar_out_json(&c->out, ar_buf_str(&text));
	ar_buf_fini(&text);
}

static void print_row(struct listing *l, struct ar_json task)
{
	struct ar_out *o = &l->ctl->out;
	struct ar_str title = ar_api_str(task, "title");

	if (l->count == 0) {
		ar_out_style(o, AR_STYLE_BOLD);
		ar_out_printf(o, "%-*s  %-36s  %s\n", STATUS_WIDTH, "STATUS", "TASK", "OBJECTIVE");
		ar_out_style(o, AR_STYLE_PLAIN);
	}
	ar_out_column(o, ar_api_str(task, "status"), STATUS_WIDTH);
	ar_out_printf(o, "  ");
	ar_out_column(o, ar_api_str(task, "taskId"), 36);
	ar_out_printf(o, "  ");
	ar_out_line(o, ar_str_utf8_prefix(ar_str_empty(title) ? ar_api_str(task, "objective") : title,
					  TEXT_WIDTH));
	ar_out_printf(o, "\n");
}

static enum ar_exit list_page(struct listing *l)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(l->ctl, ar_str_absent(l->session) ? "find_tasks" : "list_tasks",
					body_of(l), &reply);

	l->cursor = AR_STR_NONE;
	if (exit == AR_EXIT_OK) {
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(reply.doc, "tasks"));
		     ar_json_next(&it); l->count++) {
			if (l->ctl->is_json)
				print_json(l->ctl, it.value);
			else
				print_row(l, it.value);
		}
		l->cursor = ar_arena_str(&l->ctl->arena, ar_api_str(reply.doc, "nextCursor"));
	}
	ar_api_fini(&reply);
	return exit;
}

enum ar_exit ar_task_list(struct ar_ctl *c, const char *session, bool is_all)
{
	struct listing l = { .ctl = c, .is_all = is_all, .session = AR_STR_NONE, .cursor = AR_STR_NONE };
	enum ar_exit exit = session ? ar_resolve_session(c, session, &l.session) : AR_EXIT_OK;

	if (exit != AR_EXIT_OK)
		return exit;
	do
		exit = list_page(&l);
	while (exit == AR_EXIT_OK && !ar_str_absent(l.cursor) && l.count < TASKS);
	if (exit == AR_EXIT_OK && !ar_str_absent(l.cursor))
		ar_ctl_note(c, "there are more; `agentctl task list SESSION` shows those of one session");
	else if (exit == AR_EXIT_OK && l.count == 0)
		ar_ctl_note(c, is_all ? "there is no task" : "no task is open; --all shows those that ended");
	return exit;
}
