/* `agentctl task show`: a task, its attempts, what it waits for and what is still to be met. */
#include "resolve.h"
#include "task/task.h"

enum ar_exit ar_task_get(struct ar_ctl *c, struct ar_str task, struct ar_api_reply *ret)
{
	return ar_api_call(c, "get_task", ar_resolve_body(c, "taskId", task), ret);
}

/* A label, a word of the record and a text, on one line. */
static void print_line(struct ar_ctl *c, const char *label, struct ar_str word, struct ar_str text)
{
	ar_out_printf(&c->out, "%-10s ", label);
	ar_out_line(&c->out, ar_str_absent(word) ? AR_STR("?") : word);
	if (!ar_str_empty(text)) {
		ar_out_printf(&c->out, "  ");
		ar_out_line(&c->out, text);
	}
	ar_out_printf(&c->out, "\n");
}

static void print_attempts(struct ar_ctl *c, struct ar_json attempts)
{
	for (struct ar_json_iter it = ar_json_iter(attempts); ar_json_next(&it);) {
		struct ar_str error = ar_api_str(ar_json_get(it.value, "lastError"), "message");

		print_line(c, "attempt", ar_api_str(it.value, "status"),
			   ar_texts_first(AR_TEXTS(error, ar_api_str(it.value, "completionSummary"),
						   ar_api_str(it.value, "turnId"))));
	}
}

static void print_criteria(struct ar_ctl *c, struct ar_json criteria)
{
	for (struct ar_json_iter it = ar_json_iter(criteria); ar_json_next(&it);) {
		bool is_met = false;

		ar_json_bool(ar_json_get(it.value, "satisfied"), &is_met);
		print_line(c, is_met ? "met" : "not met", ar_api_str(it.value, "criterion"),
			   ar_api_str(it.value, "reason"));
	}
}

/* What it waits for and what waits for it; other edges are in the JSON. */
static void print_edges(struct ar_ctl *c, struct ar_json edges)
{
	static const struct {
		const char *kind, *label;
	} shown[] = { { "blocked_by", "waits for" }, { "blocks", "before" }, { "parent", "part of" } };

	for (struct ar_json_iter it = ar_json_iter(edges); ar_json_next(&it);) {
		for (size_t i = 0; i < AR_ARRAY_LEN(shown); i++) {
			if (ar_str_is(ar_api_str(it.value, "kind"), shown[i].kind))
				print_line(c, shown[i].label, ar_api_str(it.value, "targetId"),
					   ar_api_str(it.value, "status"));
		}
	}
}

static void print_task(struct ar_ctl *c, const struct ar_api_reply *r)
{
	static const char *const lines[][2] = { { "task", "taskId" },	      { "title", "title" },
						{ "objective", "objective" }, { "command", "command" },
						{ "status", "status" },	      { "because", "statusReason" },
						{ "session", "sessionId" },   { "created", "createdAt" },
						{ "changed", "updatedAt" } };
	struct ar_json delivery = ar_json_get(r->doc, "deliveryState");
	struct ar_json checks = ar_json_get(r->doc, "checks");

	for (size_t i = 0; i < AR_ARRAY_LEN(lines); i++)
		ar_out_member(&c->out, lines[i][0], ar_api_str(r->doc, lines[i][1]));
	print_attempts(c, ar_json_get(r->doc, "attempts"));
	print_criteria(c, ar_json_len(checks) ? checks : ar_json_get(r->doc, "acceptance"));
	print_edges(c, ar_json_get(r->doc, "relationships"));
	if (!ar_str_is(ar_api_str(delivery, "state"), "not_applicable"))
		print_line(c, "delivery", ar_api_str(delivery, "state"), ar_api_str(delivery, "reason"));
}

enum ar_exit ar_task_show(struct ar_ctl *c, struct ar_str task)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_task_get(c, task, &reply);

	if (exit == AR_EXIT_OK)
		(c->is_json ? ar_api_print : print_task)(c, &reply);
	ar_api_fini(&reply);
	return exit;
}
