/* See term.h: processes whose call has ended, agents, and tasks that somebody declared. While they go on they
 * have a row above the input, their end is a line of history. */
#include "term/term.h"

#include <stdio.h>

#define ROWS 3 /* shown at once */
#define RESULT_LINES 3 /* of an agent */

static void set(struct ar_buf *b, struct ar_str value)
{
	ar_buf_clear(b);
	ar_buf_adds(b, value);
}

/* ---- the list ---- */

static struct ar_term_beside *find_beside(struct ar_term *t, struct ar_str id)
{
	for (size_t i = 0; i < AR_TERM_BESIDE && !ar_str_absent(id); i++) {
		if (t->beside[i].kind && ar_str_eq(ar_buf_str(&t->beside[i].id), id))
			return &t->beside[i];
	}
	return NULL;
}

/* Of more than there are places for, the others have their end alone. */
static struct ar_term_beside *add(struct ar_term *t, const char *kind, struct ar_str id, struct ar_str name)
{
	struct ar_term_beside *b = find_beside(t, id);

	for (size_t i = 0; i < AR_TERM_BESIDE && !b; i++)
		b = t->beside[i].kind ? NULL : &t->beside[i];
	if (!b)
		return NULL;
	b->kind = kind;
	b->is_shown = false;
	set(&b->id, id);
	set(&b->name, name);
	ar_buf_clear(&b->call);
	ar_buf_clear(&b->status);
	return b;
}

void ar_term_beside_fini(struct ar_term *t)
{
	for (size_t i = 0; i < AR_TERM_BESIDE; i++) {
		ar_buf_fini(&t->beside[i].id);
		ar_buf_fini(&t->beside[i].name);
		ar_buf_fini(&t->beside[i].call);
		ar_buf_fini(&t->beside[i].status);
	}
}

/* ---- lines ---- */

static void add_name(struct ar_buf *to, const struct ar_term_beside *b)
{
	struct ar_str line, rest = ar_str_split(ar_buf_str(&b->name), '\n', &line);

	ar_text_add(to, line);
	if (rest.len)
		ar_buf_addz(to, " …");
}

static void print_end(struct ar_term *t, struct ar_term_beside *b, bool is_good, struct ar_str how)
{
	struct ar_buf line = { 0 };

	ar_text_style(&line, is_good ? AR_STYLE_GREEN : AR_STYLE_RED);
	ar_buf_addz(&line, is_good ? "• " : "✗ ");
	ar_text_style(&line, AR_STYLE_PLAIN);
	ar_buf_addf(&line, "%s ", b->kind);
	add_name(&line, b);
	ar_text_style(&line, AR_STYLE_DIM);
	ar_buf_addz(&line, "  ");
	ar_text_add(&line, how);
	ar_term_print(t, ar_buf_str(&line), 2);
	ar_buf_fini(&line);
	b->kind = NULL;
}

void ar_term_beside_rows(struct ar_term *t, struct ar_buf *rows)
{
	int count = 0;

	for (size_t i = 0; i < AR_TERM_BESIDE; i++) {
		const struct ar_term_beside *b = &t->beside[i];

		if (!b->kind || !b->is_shown || ++count > ROWS)
			continue;
		ar_text_style(rows, AR_STYLE_DIM);
		ar_buf_addf(rows, "  %s ", b->kind);
		add_name(rows, b);
		ar_buf_addz(rows, ": ");
		ar_text_add(rows, ar_buf_str(&b->status));
		ar_buf_addc(rows, '\n');
	}
	if (count > ROWS)
		ar_buf_addf(rows, "  … %d more go on\n", count - ROWS);
}

/* ---- processes ---- */

static void on_process(struct ar_term *t, const struct ar_ctl_event *e, struct ar_json payload)
{
	struct ar_str command = ar_api_str(payload, "safeCommand");
	struct ar_term_beside *b = add(t, "process", ar_api_str(e->doc, "processId"), command);

	if (b) {
		set(&b->call, ar_api_str(e->doc, "toolCallId"));
		set(&b->status, AR_STR("runs"));
	}
}

void ar_term_beside_called(struct ar_term *t, struct ar_str call)
{
	for (size_t i = 0; i < AR_TERM_BESIDE; i++) {
		if (t->beside[i].kind && t->beside[i].call.len &&
		    ar_str_eq(ar_buf_str(&t->beside[i].call), call))
			t->beside[i].is_shown = true;
	}
}

/* The card of a call that still waits tells the end itself. */
static void on_process_end(struct ar_term *t, const struct ar_ctl_event *e, struct ar_json payload)
{
	struct ar_term_beside *b = find_beside(t, ar_api_str(e->doc, "processId"));
	int64_t code = ar_api_int(payload, "exitCode"), ms = ar_api_int(payload, "durationMs");
	struct ar_arena a = { 0 };
	struct ar_str how = AR_STR("ended on purpose");

	if (!b)
		return;
	if (ar_str_is(e->type, "process.completed"))
		how = ar_arena_fmt(&a, "exit %lld · %lld.%lld s", (long long)code, (long long)(ms / 1000),
				   (long long)(ms / 100 % 10));
	else if (ar_str_is(e->type, "process.failed"))
		how = ar_api_str(ar_json_get(payload, "error"), "message");
	if (b->is_shown)
		print_end(t, b, !ar_str_is(e->type, "process.failed") && code == 0, how);
	b->kind = NULL;
	ar_arena_fini(&a);
}

/* ---- agents ---- */

static void on_agent(struct ar_term *t, const struct ar_ctl_event *e, struct ar_json payload)
{
	struct ar_str name = ar_api_str(payload, "nickname"), role = ar_api_str(payload, "role");
	struct ar_term_beside *b = add(t, "agent", ar_api_str(e->doc, "subagentId"), name);

	if (!b)
		return;
	if (!ar_str_empty(role) && !ar_str_eq(role, name)) {
		ar_buf_addz(&b->name, " (");
		ar_buf_adds(&b->name, role);
		ar_buf_addz(&b->name, ")");
	}
	b->is_shown = true;
	set(&b->status, ar_api_str(payload, "status"));
}

static void on_agent_status(struct ar_term *t, const struct ar_ctl_event *e, struct ar_json payload)
{
	struct ar_term_beside *b = find_beside(t, ar_api_str(e->doc, "subagentId"));

	if (b)
		set(&b->status, ar_api_str(payload, "status"));
}

static void on_agent_end(struct ar_term *t, const struct ar_ctl_event *e, struct ar_json payload)
{
	struct ar_term_beside *b = find_beside(t, ar_api_str(e->doc, "subagentId"));
	bool is_good = ar_str_is(e->type, "subagent.completed");
	struct ar_buf text = { 0 };

	if (!b)
		return;
	if (ar_str_is(e->type, "subagent.closed")) {
		print_end(t, b, true, AR_STR("closed"));
		return;
	}
	if (!is_good)
		ar_buf_adds(&text, ar_api_str(ar_json_get(payload, "error"), "message"));
	else
		ar_term_content(t, ar_api_str(payload, "lastMessageRef"), &text);
	print_end(t, b, is_good, is_good ? AR_STR("completed") : AR_STR("failed"));
	ar_term_print_first(t, ar_buf_str(&text), RESULT_LINES, "");
	ar_buf_fini(&text);
}

/* ---- tasks ---- */

static void on_task(struct ar_term *t, const struct ar_ctl_event *e, struct ar_json payload)
{
	struct ar_str title = ar_api_str(payload, "title");
	struct ar_term_beside *b;

	if (ar_str_is(ar_api_str(payload, "visibility"), "internal")) /* a turn */
		return;
	b = add(t, "task", ar_api_str(e->doc, "taskId"),
		ar_str_empty(title) ? ar_api_str(payload, "objective") : title);
	if (b) {
		b->is_shown = true;
		set(&b->status, AR_STR("created"));
	}
}

/* The last part of the type says what it has become. */
static void on_task_change(struct ar_term *t, const struct ar_ctl_event *e, struct ar_json payload AR_UNUSED)
{
	struct ar_term_beside *b = find_beside(t, ar_api_str(e->doc, "taskId"));

	if (b)
		set(&b->status, ar_str_sub(e->type, sizeof("task.") - 1, e->type.len));
}

static void on_task_end(struct ar_term *t, const struct ar_ctl_event *e, struct ar_json payload AR_UNUSED)
{
	struct ar_term_beside *b = find_beside(t, ar_api_str(e->doc, "taskId"));

	if (b)
		print_end(t, b, ar_str_is(e->type, "task.completed"),
			  ar_str_sub(e->type, sizeof("task.") - 1, e->type.len));
}

/* ---- which event is what ---- */

static const struct {
	const char *type;
	void (*take)(struct ar_term *t, const struct ar_ctl_event *e, struct ar_json payload);
} takers[] = {
	{ "process.started", on_process },	{ "process.completed", on_process_end },
	{ "process.failed", on_process_end },	{ "process.terminated", on_process_end },
	{ "subagent.spawned", on_agent },	{ "subagent.status", on_agent_status },
	{ "subagent.completed", on_agent_end }, { "subagent.failed", on_agent_end },
	{ "subagent.closed", on_agent_end },	{ "task.created", on_task },
	{ "task.queued", on_task_change },	{ "task.started", on_task_change },
	{ "task.waiting", on_task_change },	{ "task.blocked", on_task_change },
	{ "task.paused", on_task_change },	{ "task.completed", on_task_end },
	{ "task.failed", on_task_end },		{ "task.cancelled", on_task_end },
	{ "task.timed_out", on_task_end },	{ "task.lost", on_task_end },
};

bool ar_term_beside_event(struct ar_term *t, const struct ar_ctl_event *e)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(takers); i++) {
		if (ar_str_is(e->type, takers[i].type)) {
			takers[i].take(t, e, ar_json_get(e->doc, "payload"));
			return true;
		}
	}
	return false;
}
