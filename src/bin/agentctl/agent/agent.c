/* `agentctl agent`: the child agents of a session as a tree; input for one, its end, and what it changed in a
 * folder of its own. */
#include "api.h"
#include "clock.h"
#include "id.h"
#include "resolve.h"
#include "workspace/workspace.h"

#include <string.h>

#define ID_WIDTH 33
#define STATUS_WIDTH 11
#define AGE_WIDTH 10
#define DEPTH_MAX 16

enum { AGENT_STATUS, AGENT_REASON, AGENT_FORCE };

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->wall(clock);
}

/* ---- list ---- */

static void print_row(struct ar_ctl *c, struct ar_json record)
{
	int64_t depth = ar_api_int(record, "depth");
	struct ar_str name = ar_api_str(record, "nickname"), reason = ar_api_str(record, "statusReason");

	ar_out_column(&c->out, ar_api_str(record, "subagentId"), ID_WIDTH);
	ar_out_column(&c->out, ar_api_str(record, "status"), STATUS_WIDTH);
	ar_out_age(&c->out, ar_api_time(record, "updatedAt"), now(), AGE_WIDTH);
	ar_out_printf(&c->out, "  %*s", depth > 1 && depth <= DEPTH_MAX ? (int)(depth - 1) * 2 : 0, "");
	ar_out_line(&c->out, ar_str_empty(name) ? ar_api_str(record, "role") : name);
	if (!ar_str_empty(reason)) {
		ar_out_printf(&c->out, " (");
		ar_out_line(&c->out, reason);
		ar_out_printf(&c->out, ")");
	}
	ar_out_printf(&c->out, "\n");
}

static void print_table(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json agents = ar_json_get(r->doc, "subagents");

	if (ar_json_len(agents) == 0) {
		ar_ctl_note(c, "the session has no such agents");
		return;
	}
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_printf(&c->out, "%-*s  %-*s  %-*s  %s\n", ID_WIDTH, "AGENT", STATUS_WIDTH, "STATUS", AGE_WIDTH,
		      "CHANGED", "NAME");
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	for (struct ar_json_iter it = ar_json_iter(agents); ar_json_next(&it);)
		print_row(c, it.value);
	if (!ar_str_absent(ar_api_str(r->doc, "nextCursor")))
		ar_ctl_note(c, "there are more; `agentctl call list_subagents` takes their cursor");
}

static void write_list(struct ar_buf *body, struct ar_str session, const char *status)
{
	struct ar_jw w = ar_jw(body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mstr(&w, "depth", AR_STR("descendants"));
	ar_jw_mstr(&w, "status", ar_str_from(status));
	ar_jw_mint(&w, "limit", 200);
	ar_jw_close(&w);
}

static enum ar_exit list(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_str session;
	enum ar_exit rc = ar_resolve_session(c, a->count > 1 ? a->words[1] : "last", &session);

	if (rc != AR_EXIT_OK)
		return rc;
	write_list(&body, session, a->values[AGENT_STATUS]);
	return ar_api_show(c, "list_subagents", &body, print_table);
}

/* ---- show ---- */

static void print_agent(struct ar_ctl *c, struct ar_json record)
{
	static const char *const lines[][2] = {
		{ "agent", "subagentId" }, { "name", "nickname" },	 { "role", "role" },
		{ "status", "status" },	   { "reason", "statusReason" }, { "detail", "statusDetail" },
		{ "parent", "parentId" },  { "turn", "parentTurnId" },	 { "thread", "childThreadId" },
		{ "task", "taskId" },	   { "created", "createdAt" },	 { "changed", "updatedAt" },
		{ "result", "resultRef" },
	};
	static const char *const rules[] = {
		"prompt", "workspace", "worktree", "tool", "permission", "memory"
	};
	struct ar_json spent = ar_json_get(record, "spent"), files = ar_json_get(record, "files");
	bool is_changed = false;

	for (size_t i = 0; i < AR_ARRAY_LEN(lines); i++)
		ar_out_member(&c->out, lines[i][0], ar_api_str(record, lines[i][1]));
	for (size_t i = 0; i < AR_ARRAY_LEN(rules); i++)
		ar_out_member(&c->out, rules[i], ar_api_str(ar_json_get(record, "isolation"), rules[i]));
	if (ar_json_bool(ar_json_get(files, "changed"), &is_changed) && is_changed)
		ar_out_member(&c->out, "files", AR_STR("changed: merge or discard them"));
	else
		ar_out_member(&c->out, "files", ar_api_str(files, "status"));
	ar_out_printf(&c->out, "%-10s %lld tokens, %lld tool calls\n", "used",
		      (long long)ar_api_int(spent, "tokens"), (long long)ar_api_int(spent, "toolCalls"));
	if (!ar_str_empty(ar_api_str(record, "summary")))
		ar_out_member(&c->out, "said", ar_api_str(record, "summary"));
}

/* Its id names the session. */
static enum ar_exit show(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_str id = ar_str_from(a->words[1]), key = ar_id_owner(id);
	struct ar_buf body = { 0 };
	struct ar_api_reply r = { 0 };
	enum ar_exit rc;
	bool is_found = false;

	if (ar_str_absent(key))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl agent list SESSION"),
				       "'%.64s' is not the id of an agent", a->words[1]);
	write_list(&body, ar_arena_fmt(&c->arena, "sess_%.*s", AR_STR_ARG(key)), NULL);
	rc = ar_api_call(c, "list_subagents", ar_buf_str(&body), &r);
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(r.doc, "subagents"));
	     rc == AR_EXIT_OK && ar_json_next(&it);) {
		if (!ar_str_eq(ar_api_str(it.value, "subagentId"), id))
			continue;
		print_agent(c, it.value);
		is_found = true;
	}
	ar_api_fini(&r);
	ar_buf_fini(&body);
	if (rc == AR_EXIT_OK && !is_found)
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("agentctl agent list SESSION"),
				       "the session has no agent %.64s", a->words[1]);
	return rc;
}

/* ---- changes ---- */

static void print_status(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_line(&c->out, ar_api_str(r->doc, "subagentId"));
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_api_str(r->doc, "status"));
	ar_out_printf(&c->out, "\n");
}

static enum ar_exit send(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "subagentId", ar_str_from(a->words[1]));
	ar_jw_mstr(&w, "input", ar_str_from(a->words[2]));
	ar_jw_close(&w);
	return ar_api_show(c, "send_subagent_input", &body, print_status);
}

static enum ar_exit end(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "subagentId", ar_str_from(a->words[1]));
	ar_jw_mstr(&w, "reason", ar_str_from(a->values[AGENT_REASON]));
	if (a->values[AGENT_FORCE])
		ar_jw_mbool(&w, "force", true);
	ar_jw_close(&w);
	return ar_api_show(c, "close_subagent", &body, print_status);
}

static enum ar_exit resume(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "subagentId", ar_str_from(a->words[1]));
	ar_jw_mstr(&w, "reason", ar_str_from(a->values[AGENT_REASON]));
	ar_jw_close(&w);
	return ar_api_show(c, "resume_subagent", &body, print_status);
}

/* ---- its own folder ---- */

/* Its id names the session; false: it is none, and that is said. */
static bool find_session(struct ar_ctl *c, const char *agent, const char **ret)
{
	struct ar_str key = ar_id_owner(ar_str_from(agent));

	if (ar_str_absent(key)) {
		(void)ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl agent list SESSION"),
				      "'%.64s' is not the id of an agent", agent);
		return false;
	}
	*ret = ar_arena_fmt(&c->arena, "sess_%.*s", AR_STR_ARG(key)).p;
	return true;
}

static enum ar_exit change_folder(struct ar_ctl *c, const struct ar_ctl_args *a,
				  enum ar_exit (*run)(struct ar_ctl *c,
						      const struct ar_workspace_change *what))
{
	struct ar_workspace_change what = { .agent = a->words[1], .reason = a->values[AGENT_REASON] };

	return find_session(c, what.agent, &what.session) ? run(c, &what) : AR_EXIT_USAGE;
}

static enum ar_exit merge(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return change_folder(c, a, ar_workspace_apply);
}

static enum ar_exit discard(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return change_folder(c, a, ar_workspace_discard);
}

static enum ar_exit diff(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const char *session;

	return find_session(c, a->words[1], &session) ? ar_workspace_diff(c, session, a->words[1])
						      : AR_EXIT_USAGE;
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int min, max; /* words, the name counted */
	enum ar_exit (*run)(struct ar_ctl *c, const struct ar_ctl_args *a);
} acts[] = {
	{ "list", 1, 2, list },	    { "show", 2, 2, show },	  { "send", 3, 3, send },
	{ "resume", 2, 2, resume }, { "close", 2, 2, end },	  { "diff", 2, 2, diff },
	{ "merge", 2, 2, merge },   { "discard", 2, 2, discard },
};

static enum ar_exit agent(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(acts); i++) {
		if (strcmp(a->words[0], acts[i].name) == 0 && a->count >= acts[i].min &&
		    a->count <= acts[i].max)
			return acts[i].run(c, a);
	}
	return ar_ctl_complain(
		c, AR_EXIT_USAGE, AR_STR("agentctl agent --help"),
		"agent needs list, or show, send, resume, close, diff, merge, discard with the id of "
		"an agent");
}

const struct ar_ctl_command ar_cmd_agent = {
	.name = "agent",
	.synopsis = "list|show|send|resume|close|diff|merge|discard [SESSION|AGENT] [TEXT]",
	.summary = "list the child agents of a session, send them input, end them, merge their work",
	.text = "A child agent works in a thread of its own for a turn of the session. AGENT is its id "
		"(sub_...).\n"
		"list shows all of a session, children under their parents; send gives one more input; "
		"resume continues\n"
		"one that was lost or failed; close ends one with its children and processes. diff, merge "
		"and "
		"discard are\n"
		"for one with a worktree of its own: what it changed is shown, merged into the folder of its "
		"parent, or\n"
		"thrown away; its folder goes when it is closed and nothing in it is left to merge.",
	.examples = "agentctl agent list\n"
		    "agentctl agent list last --status running\n"
		    "agentctl agent show sub_01jbq8m3k2v4x6z8a0c2e4g6j8_1\n"
		    "agentctl agent send sub_01jbq8m3k2v4x6z8a0c2e4g6j8_1 'and the tests?'\n"
		    "agentctl agent close sub_01jbq8m3k2v4x6z8a0c2e4g6j8_1 --reason 'not needed'\n"
		    "agentctl agent merge sub_01jbq8m3k2v4x6z8a0c2e4g6j8_1",
	.min = 1,
	.max = 3,
	.options = { [AGENT_STATUS] = { "status", "STATUS", "list: only those" },
		     [AGENT_REASON] = { "reason", "TEXT", "resume, close, merge, discard: reason to record" },
		     [AGENT_FORCE] = { "force", NULL, "close: kill its processes at once" } },
	.run = agent,
};
