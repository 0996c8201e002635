/* See workspace.h: which workspace `run` and `chat` use. Nobody has to know of workspaces to get an
 * answer: where the current folder cannot be one, a note says so and the server's own folder is used, as
 * for a client of another machine. What was named and cannot be used is a failure. */
#include "resolve.h"
#include "workspace/workspace.h"

#include <stdlib.h>

#define NO_WORKSPACE "default" /* of sessions without one */

/* AGENTD_WORKSPACE names the one folder of the daemon: a user who sets it has chosen. */
static bool is_server_chosen(struct ar_ctl *c, const struct ar_workspace_choice *choice)
{
	const char *own = getenv("AGENTD_WORKSPACE");

	return choice->is_off || (!choice->word && (!c->socket || (own && *own)));
}

enum ar_exit ar_workspace_check(struct ar_ctl *c, const struct ar_workspace_choice *choice, bool has_session)
{
	if (choice->word && choice->is_off)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("leave one of them out"),
				       "--workspace and --no-workspace exclude each other");
	if (choice->isolation && (has_session || choice->is_off || choice->is_continued))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("leave one of them out"),
				       "--isolation is for new sessions in a workspace, and --%s asks for "
				       "another",
				       has_session	? "session"
				       : choice->is_off ? "no-workspace"
							: "continue");
	if (has_session && (choice->word || choice->is_off || choice->trusts))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("leave one of them out"),
				       "--session and --%s exclude each other: a session keeps its workspace",
				       choice->word	? "workspace"
				       : choice->is_off ? "no-workspace"
							: "trust");
	if (choice->trusts && (choice->is_off || choice->is_continued))
		return ar_ctl_complain(c, AR_EXIT_USAGE,
				       AR_STR("agentctl workspace trust counts for new sessions"),
				       "--trust and --%s exclude each other",
				       choice->is_off ? "no-workspace" : "continue");
	return AR_EXIT_OK;
}

/* ---- the current folder ---- */

#define OTHER_FOLDER "; start in the folder of a project, or name it with --workspace"

/* Refusals that say that this folder is none, not that something is wrong: no workspaces at all, a daemon
 * that is older than them, a folder that may not be one, a path that none can have; and what helps. */
static const struct none {
	const char *code, *advice;
} nones[] = { { "unavailable", "" },
	      { "not_found", "; the daemon is older than workspaces" },
	      { "policy_denied", OTHER_FOLDER },
	      { "invalid_input", OTHER_FOLDER } };

static const struct none *find_none(struct ar_str code)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(nones); i++) {
		if (ar_str_is(code, nones[i].code))
			return &nones[i];
	}
	return NULL;
}

static void note_unused(struct ar_ctl *c, struct ar_str folder, struct ar_str reason, const char *advice)
{
	ar_ctl_note(c, "the session does not work in %.*s: %.*s%s (--no-workspace omits this note)",
		    AR_STR_ARG(folder), AR_STR_ARG(reason), advice);
}

/* Sessions of an archived workspace go on; new ones are refused. */
static enum ar_exit use_folder(struct ar_ctl *c, const struct ar_workspace_choice *choice,
			       struct ar_str folder, struct ar_workspace *ret)
{
	struct ar_api_reply reply;
	struct ar_error err = { 0 };
	enum ar_status st = ar_workspace_make(c, folder, ret, &reply, &err);
	struct ar_json error = ar_json_get(reply.doc, "error");
	struct ar_str code = ar_api_str(error, "code");
	const struct none *none = st == AR_OK && !choice->word ? find_none(code) : NULL;
	enum ar_exit exit = AR_EXIT_OK;

	if (none)
		note_unused(c, folder, ar_api_str(error, "message"), none->advice);
	else if (st == AR_OK && choice->is_continued && ar_str_is(code, "workspace_archived"))
		exit = ar_workspace_find(c, folder, ret);
	else
		exit = ar_api_explain(c, st, &reply, &err);
	ar_api_fini(&reply);
	return exit;
}

/* Absent id with OK: it cannot be one, which was noted. */
static enum ar_exit use_current(struct ar_ctl *c, const struct ar_workspace_choice *choice,
				struct ar_workspace *ret)
{
	struct ar_str folder;
	const char *reason;

	if (ar_workspace_path(c, NULL, &folder, &reason))
		return use_folder(c, choice, folder, ret);
	note_unused(c, AR_STR("the current folder"), ar_str_from(reason), OTHER_FOLDER);
	return AR_EXIT_OK;
}

/* ---- the one that is named ---- */

static enum ar_exit use_named(struct ar_ctl *c, const struct ar_workspace_choice *choice,
			      struct ar_workspace *ret)
{
	struct ar_str folder;
	enum ar_exit exit;

	if (ar_workspace_is_id(choice->word))
		return ar_workspace_get(c, choice->word, ret);
	exit = ar_workspace_folder(c, choice->word, &folder);
	return exit == AR_EXIT_OK ? use_folder(c, choice, folder, ret) : exit;
}

/* ---- for a session ---- */

/* A session keeps what it began with: trust counts for new ones. */
static enum ar_exit settle_trust(struct ar_ctl *c, const struct ar_workspace_choice *choice,
				 const struct ar_workspace *w)
{
	bool is_trusted;

	if (ar_str_absent(w->id) || w->is_trusted || choice->is_continued)
		return AR_EXIT_OK;
	if (choice->trusts)
		return ar_workspace_trust(c, w, false, &is_trusted);
	return ar_workspace_offer_trust(c, w);
}

enum ar_exit ar_workspace_choose(struct ar_ctl *c, const struct ar_workspace_choice *choice,
				 struct ar_workspace *ret)
{
	enum ar_exit exit = AR_EXIT_OK;

	*ret = (struct ar_workspace){ 0 };
	if (!is_server_chosen(c, choice))
		exit = choice->word ? use_named(c, choice, ret) : use_current(c, choice, ret);
	return exit == AR_EXIT_OK ? settle_trust(c, choice, ret) : exit;
}

enum ar_exit ar_workspace_newest(struct ar_ctl *c, const struct ar_workspace_choice *choice,
				 const struct ar_workspace *w, struct ar_str *ret_session)
{
	if (!c->socket && !choice->word)
		return ar_resolve_session(c, "last", ret_session);
	if (ar_str_absent(w->id))
		return ar_resolve_newest(c, AR_STR(NO_WORKSPACE),
					 "no session without a workspace is there yet", ret_session);
	return ar_resolve_newest(
		c, w->id, ar_arena_fmt(&c->arena, "no session works in %.*s yet", AR_STR_ARG(w->root)).p,
		ret_session);
}
