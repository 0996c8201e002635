/* `agentctl workspace`: the workspaces of the caller's tenant, one of them with what its folder brings, and
 * the changes that people make: trust, name, variables, archive. */
#include "clock.h"
#include "resolve.h"
#include "workspace/workspace.h"

#include <limits.h>
#include <string.h>

#define ID_WIDTH 29
#define NAME_WIDTH 20
#define STATE_WIDTH 10
#define AGE_WIDTH 10

enum { WORKSPACE_ALL, WORKSPACE_REASON, WORKSPACE_SECRET, WORKSPACE_UNSET };

/* ---- which one ---- */

static enum ar_exit no_such(struct ar_ctl *c, struct ar_str folder)
{
	return ar_ctl_complain(
		c, AR_EXIT_FAILED,
		AR_STR("agentctl workspace list shows them; agentctl run or agentctl workspace "
		       "trust makes one of a folder"),
		"%.*s is not a workspace yet", AR_STR_ARG(folder));
}

/* The workspace that the word names, or that of the current folder. It has to be there. */
static enum ar_exit find_workspace(struct ar_ctl *c, const char *word, struct ar_workspace *ret)
{
	struct ar_str folder;
	enum ar_exit exit;

	if (word && ar_workspace_is_id(word))
		return ar_workspace_get(c, word, ret);
	exit = ar_workspace_folder(c, word, &folder);
	if (exit == AR_EXIT_OK)
		exit = ar_workspace_find(c, folder, ret);
	if (exit == AR_EXIT_OK && ar_str_absent(ret->id))
		return no_such(c, folder);
	return exit;
}

/* ---- list ---- */

static struct ar_str trust_of(struct ar_json record)
{
	return ar_str_is(ar_api_str(record, "trust"), "trusted") ? AR_STR("trusted") : AR_STR("untrusted");
}

/* Trust counts as long as there can be new sessions. */
static struct ar_str state_of(struct ar_json record)
{
	struct ar_str status = ar_api_str(record, "status");

	return ar_str_is(status, "active") ? trust_of(record) : status;
}

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->wall(clock);
}

static void print_row(struct ar_ctl *c, struct ar_json record)
{
	ar_out_column(&c->out, ar_api_str(record, "workspaceId"), ID_WIDTH);
	ar_out_column(&c->out, ar_api_str(record, "name"), NAME_WIDTH);
	ar_out_column(&c->out, state_of(record), STATE_WIDTH);
	ar_out_age(&c->out, ar_api_time(record, "updatedAt"), now(), AGE_WIDTH);
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_api_str(record, "root"));
	ar_out_printf(&c->out, "\n");
}

static void print_table(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json workspaces = ar_json_get(r->doc, "workspaces");

	if (ar_json_len(workspaces) == 0) {
		ar_ctl_note(c, "there are no workspaces; `agentctl run` makes one of the current folder");
		return;
	}
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_printf(&c->out, "%-*s  %-*s  %-*s  %-*s  %s\n", ID_WIDTH, "WORKSPACE", NAME_WIDTH, "NAME",
		      STATE_WIDTH, "STATE", AGE_WIDTH, "CHANGED", "FOLDER");
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	for (struct ar_json_iter it = ar_json_iter(workspaces); ar_json_next(&it);)
		print_row(c, it.value);
	if (!ar_str_absent(ar_api_str(r->doc, "nextCursor")))
		ar_ctl_note(c, "there are more; `agentctl call list_workspaces` takes their cursor");
}

static enum ar_exit list(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return ar_api_list(c, "list_workspaces", a->values[WORKSPACE_ALL] != NULL, print_table);
}

/* ---- show ---- */

static void print_workspace(struct ar_ctl *c, struct ar_json record, struct ar_json seen)
{
	static const char *const lines[][2] = {
		{ "workspace", "workspaceId" }, { "folder", "root" },	      { "name", "name" },
		{ "status", "status" },		{ "owner", "owner" },	      { "created", "createdAt" },
		{ "changed", "updatedAt" },	{ "trusted by", "trustedBy" }
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(lines); i++)
		ar_out_member(&c->out, lines[i][0], ar_api_str(record, lines[i][1]));
	ar_out_member(&c->out, "trust", trust_of(record));
	if (ar_json_len(ar_json_get(seen, "items")))
		ar_out_printf(&c->out, "brings\n");
	ar_workspace_print_items(&c->out, seen);
}

/* One object: the record, and what the folder brings if the server can say so. */
static void print_json(struct ar_ctl *c, struct ar_json record, struct ar_json seen)
{
	struct ar_buf text = { 0 };
	struct ar_json items = ar_json_get(seen, "items");

	ar_buf_addz(&text, "{\"workspace\":");
	ar_json_print(record, &text);
	if (ar_json_type(items) == AR_JSON_ARRAY) {
		ar_buf_addz(&text, ",\"items\":");
		ar_json_print(items, &text);
		ar_buf_addz(&text, ",\"itemsDigest\":");
		ar_json_print(ar_json_get(seen, "itemsDigest"), &text);
	}
	if (ar_json_type(ar_json_get(seen, "servers")) == AR_JSON_ARRAY) {
		ar_buf_addz(&text, ",\"servers\":");
		ar_json_print(ar_json_get(seen, "servers"), &text);
	}
	ar_buf_addz(&text, "}\n");
	ar_out_json(&c->out, ar_buf_str(&text));
	ar_buf_fini(&text);
}

static enum ar_exit show(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_api_reply reply, seen = { 0 };
	struct ar_workspace w;
	struct ar_json record;
	enum ar_exit exit = find_workspace(c, a->count > 1 ? a->words[1] : NULL, &w);

	if (exit != AR_EXIT_OK)
		return exit;
	exit = ar_api_call(c, "get_workspace", ar_resolve_body(c, "workspaceId", w.id), &reply);
	record = ar_json_get(reply.doc, "workspace");
	if (exit == AR_EXIT_OK) {
		if (ar_api_try(c, "inspect_workspace", ar_resolve_body(c, "workspaceId", w.id), &seen,
			       NULL) != AR_OK)
			ar_ctl_note(c, "what the folder brings cannot be listed");
		if (c->is_json)
			print_json(c, record, seen.doc);
		else
			print_workspace(c, record, seen.doc);
	}
	ar_api_fini(&seen);
	ar_api_fini(&reply);
	return exit;
}

/* ---- changes ---- */

static void print_record(struct ar_ctl *c, const struct ar_api_reply *r)
{
	print_row(c, ar_json_get(r->doc, "workspace"));
}

/* Sends one member of update_workspace and shows the record. */
static enum ar_exit update(struct ar_ctl *c, struct ar_str id, const char *member, struct ar_str value)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "workspaceId", id);
	ar_jw_mstr(&w, member, value);
	ar_jw_close(&w);
	return ar_api_show(c, "update_workspace", &body, print_record);
}

static enum ar_exit rename_it(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_workspace w;
	enum ar_exit exit = find_workspace(c, a->count > 2 ? a->words[1] : NULL, &w);

	if (exit != AR_EXIT_OK)
		return exit;
	return update(c, w.id, "name", ar_str_from(a->words[a->count - 1]));
}

static enum ar_exit untrust(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_workspace w;
	enum ar_exit exit = find_workspace(c, a->count > 1 ? a->words[1] : NULL, &w);

	return exit == AR_EXIT_OK ? update(c, w.id, "trust", AR_STR("untrusted")) : exit;
}

/* A folder that is none yet becomes one: to trust it before the first turn is what a person may want. */
static enum ar_exit find_or_make(struct ar_ctl *c, const char *word, struct ar_workspace *ret)
{
	struct ar_error err = { 0 };
	struct ar_api_reply reply;
	struct ar_str folder;
	enum ar_exit exit;

	if (word && ar_workspace_is_id(word))
		return ar_workspace_get(c, word, ret);
	exit = ar_workspace_folder(c, word, &folder);
	if (exit != AR_EXIT_OK)
		return exit;
	exit = ar_api_explain(c, ar_workspace_make(c, folder, ret, &reply, &err), &reply, &err);
	ar_api_fini(&reply);
	return exit;
}

static enum ar_exit trust(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_workspace w;
	bool is_trusted = false;
	enum ar_exit exit = find_or_make(c, a->count > 1 ? a->words[1] : NULL, &w);

	if (exit == AR_EXIT_OK)
		exit = ar_workspace_trust(c, &w, true, &is_trusted);
	if (exit != AR_EXIT_OK)
		return exit;
	if (!is_trusted)
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE, "%.*s is not trusted",
				       AR_STR_ARG(w.root));
	return show(c, &(struct ar_ctl_args){ .words = (char *[]){ NULL, (char *)(uintptr_t)w.id.p },
					      .count = 2 });
}

static void print_archived(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_line(&c->out, ar_api_str(r->doc, "workspaceId"));
	ar_out_printf(&c->out, ar_str_is(ar_api_str(r->doc, "result"), "no_op") ? "  was archived before\n"
										: "  archived\n");
}

static enum ar_exit archive(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw j = ar_jw(&body);
	struct ar_workspace w;
	enum ar_exit exit = find_workspace(c, a->count > 1 ? a->words[1] : NULL, &w);

	if (exit != AR_EXIT_OK)
		return exit;
	ar_jw_open(&j);
	ar_jw_mstr(&j, "workspaceId", w.id);
	ar_jw_mstr(&j, "reason", ar_str_from(a->values[WORKSPACE_REASON]));
	ar_jw_close(&j);
	return ar_api_show(c, "archive_workspace", &body, print_archived);
}

static enum ar_exit env(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	bool is_named = a->count > 1 && !ar_workspace_is_variable(a->words[1]);
	int first = is_named ? 2 : 1;
	struct ar_workspace w;
	enum ar_exit exit = find_workspace(c, is_named ? a->words[1] : NULL, &w);

	if (exit != AR_EXIT_OK)
		return exit;
	return ar_workspace_env(c, w.id,
				&(struct ar_workspace_env){ .words = a->words + first,
							    .word_count = a->count - first,
							    .secret = a->values[WORKSPACE_SECRET],
							    .unset = a->values[WORKSPACE_UNSET] });
}

/* ---- what a session changed in its own folder ---- */

static enum ar_exit diff(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return ar_workspace_diff(c, a->words[1], NULL);
}

static enum ar_exit apply(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return ar_workspace_apply(c, &(struct ar_workspace_change){ .session = a->words[1],
								    .paths = a->words + 2,
								    .path_count = a->count - 2,
								    .reason = a->values[WORKSPACE_REASON] });
}

static enum ar_exit discard(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return ar_workspace_discard(c,
				    &(struct ar_workspace_change){ .session = a->words[1],
								   .reason = a->values[WORKSPACE_REASON] });
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int least, most; /* words, the name counted */
	enum ar_exit (*run)(struct ar_ctl *c, const struct ar_ctl_args *a);
} acts[] = {
	{ "list", 1, 1, list },	      { "show", 1, 2, show },	    { "trust", 1, 2, trust },
	{ "untrust", 1, 2, untrust }, { "archive", 1, 2, archive }, { "rename", 2, 3, rename_it },
	{ "diff", 2, 2, diff },	      { "discard", 2, 2, discard }, { "apply", 2, INT_MAX, apply },
	{ "env", 1, INT_MAX, env },
};

static enum ar_exit workspace(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(acts); i++) {
		if (strcmp(a->words[0], acts[i].name) == 0 && a->count >= acts[i].least &&
		    a->count <= acts[i].most)
			return acts[i].run(c, a);
	}
	return ar_ctl_complain(
		c, AR_EXIT_USAGE, AR_STR("agentctl workspace --help"),
		"workspace needs list, or show, trust, untrust, archive with a folder or an id, "
		"env with variables, rename with a name, or diff, apply, discard with a session");
}

const struct ar_ctl_command ar_cmd_workspace = {
	.name = "workspace",
	.synopsis = "list|show|trust|untrust|archive|rename|env [WORKSPACE] [NAME], or diff|apply|discard "
		    "SESSION [PATH...]",
	.summary = "list, show, trust, rename and archive workspaces, apply changes of sessions",
	.text = "A workspace is a folder that sessions work in. WORKSPACE is a folder or an id (ws_...); "
		"without it, the\n"
		"current folder is meant. `agentctl run` and `chat` make one of the folder that they are "
		"started in.\n"
		"show and trust list what the folder brings for the agent (AGENTS.md and the like) and what "
		"of "
		"it is used.\n"
		"Nothing of it is used before the folder is trusted. trust asks on a terminal and trusts "
		"what "
		"was listed: if\n"
		"the files change meanwhile, they are listed again. trust and untrust count for new "
		"sessions. "
		"An archived\n"
		"workspace takes no new sessions, for good; its files stay.\n"
		"env shows the variables that commands in the workspace get, or sets those that are named as "
		"NAME=VALUE, for\n"
		"new sessions. --secret names an entry of command_secrets instead of a value.\n"
		"diff, apply and discard are about a session with a folder of its own (run --isolation): "
		"they "
		"show what it\n"
		"changed, merge that into the workspace (only PATHs, if there are any), or throw it away. If "
		"files changed\n"
		"on both sides, apply writes nothing, names the question, and exits with status 4.",
	.examples = "agentctl workspace list\n"
		    "agentctl workspace show\n"
		    "agentctl workspace trust ~/project\n"
		    "agentctl workspace untrust ~/project\n"
		    "agentctl workspace rename ~/project \"The project\"\n"
		    "agentctl workspace archive ~/project --reason finished\n"
		    "agentctl workspace env ~/project STAGE=test REGION=eu\n"
		    "agentctl workspace env ~/project --unset STAGE,REGION\n"
		    "agentctl workspace diff last\n"
		    "agentctl workspace apply last src\n"
		    "agentctl workspace discard last",
	.min = 1,
	.max = -1,
	.options = { [WORKSPACE_ALL] = { "all", NULL, "list: also archived ones" },
		     [WORKSPACE_REASON] = { "reason", "TEXT", "archive, apply, discard: reason to record" },
		     [WORKSPACE_SECRET] = { "secret", "NAME=SECRET",
					    "env: variable with a secret of the settings" },
		     [WORKSPACE_UNSET] = { "unset", "NAME,...", "env: variables to remove" } },
	.run = workspace,
};
