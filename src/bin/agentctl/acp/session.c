/* See acp.h: a session of the editor is one of the daemon: made, loaded with all that was said, resumed, or
 * let go. */
#include "acp/acp.h"
#include "daemon.h"
#include "id.h"
#include "mem.h"
#include "resolve.h"
#include "workspace/workspace.h"

#include <string.h>

static void set(struct ar_buf *b, struct ar_str value)
{
	ar_buf_clear(b);
	ar_buf_adds(b, value);
}

/* ---- the table ---- */

static struct ar_acp_session *find_session(struct ar_acp *a, struct ar_str id)
{
	for (size_t i = 0; i < AR_ACP_SESSIONS; i++) {
		if (a->sessions[i] && ar_str_eq(ar_buf_str(&a->sessions[i]->id), id))
			return a->sessions[i];
	}
	return NULL;
}

struct ar_acp_session *ar_acp_session_of(struct ar_acp *a, const struct ar_acp_request *r)
{
	struct ar_acp_session *s = find_session(a, ar_api_str(r->params, "sessionId"));

	if (!s)
		ar_acp_error(a, r->id, AR_ACP_NOT_FOUND, "no session with that id is open here");
	return s;
}

/* NULL: all places are taken, which has been answered. */
static struct ar_acp_session *add_session(struct ar_acp *a, const struct ar_acp_request *r, struct ar_str id)
{
	for (size_t i = 0; i < AR_ACP_SESSIONS; i++) {
		if (a->sessions[i])
			continue;
		a->sessions[i] = ar_new0(sizeof(*a->sessions[i]));
		a->sessions[i]->acp = a;
		ar_buf_adds(&a->sessions[i]->id, id);
		return a->sessions[i];
	}
	ar_acp_error(a, r->id, AR_ACP_INTERNAL, "%d sessions are open; close one", AR_ACP_SESSIONS);
	return NULL;
}

static void forget_calls(struct ar_acp_session *s)
{
	for (size_t i = 0; i < AR_ACP_CALLS; i++) {
		struct ar_acp_call *call = &s->calls[i];

		ar_buf_fini(&call->id);
		ar_buf_fini(&call->name);
		ar_buf_fini(&call->args);
		for (size_t f = 0; f < AR_ACP_FILES; f++) {
			ar_buf_fini(&call->files[f].path);
			ar_buf_fini(&call->files[f].ref);
		}
		*call = (struct ar_acp_call){ 0 };
	}
}

void ar_acp_session_free(struct ar_acp_session *s)
{
	struct ar_buf *const bufs[] = { &s->id,	    &s->thread, &s->cwd,  &s->mode,   &s->model,
					&s->effort, &s->own,	&s->step, &s->partial };

	ar_acp_stream_close(s);
	ar_acp_servers_stop(s);
	ar_acp_questions_free(s);
	for (size_t i = 0; i < AR_ACP_PROMPTS; i++)
		ar_acp_prompt_free(&s->prompts[i]);
	forget_calls(s);
	for (size_t i = 0; i < AR_ARRAY_LEN(bufs); i++)
		ar_buf_fini(bufs[i]);
	for (size_t i = 0; i < AR_ACP_SESSIONS; i++) {
		if (s->acp->sessions[i] == s)
			s->acp->sessions[i] = NULL;
	}
	ar_free(s);
}

/* ---- the folder ---- */

/* What every way to open a session has in common; false: it is refused. */
static bool check_params(struct ar_acp *a, const struct ar_acp_request *r)
{
	struct ar_str cwd = ar_api_str(r->params, "cwd");

	if (!ar_str_starts(cwd, AR_STR("/")) || memchr(cwd.p, '\0', cwd.len)) {
		ar_acp_error(a, r->id, AR_ACP_INVALID_PARAMS, "cwd is an absolute path");
		return false;
	}
	if (ar_json_len(ar_json_get(r->params, "additionalDirectories"))) {
		ar_acp_error(a, r->id, AR_ACP_INVALID_PARAMS,
			     "a session works in one folder: additionalDirectories are not supported");
		return false;
	}
	if (ar_daemon_ensure(a->ctl) == AR_EXIT_OK)
		return true;
	ar_acp_error(a, r->id, AR_ACP_INTERNAL, "no agentd answers; `agentctl doctor` finds the cause");
	return false;
}

/* The id of the workspace that a new session works in; absent: it is refused. */
static struct ar_str choose_workspace(struct ar_acp *a, const struct ar_acp_request *r,
				      struct ar_str *ret_root)
{
	struct ar_str folder = AR_STR_NONE;
	struct ar_workspace w = { 0 };
	struct ar_api_reply reply;
	struct ar_error err = { 0 };
	const char *reason;
	enum ar_status st;

	*ret_root = ar_api_str(r->params, "cwd");
	if (a->workspace)
		return ar_str_from(a->workspace);
	if (!a->ctl->socket) {
		ar_acp_error(a, r->id, AR_ACP_INVALID_PARAMS,
			     "a folder of this machine says nothing to the daemon at %s: start agentctl acp "
			     "with --workspace ID",
			     a->ctl->url);
		return AR_STR_NONE;
	}
	if (!ar_workspace_path(a->ctl, ar_ctl_strdup(a->ctl, *ret_root), &folder, &reason)) {
		ar_acp_error(a, r->id, AR_ACP_INVALID_PARAMS, "the folder cannot be used: %s", reason);
		return AR_STR_NONE;
	}
	st = ar_workspace_make(a->ctl, folder, &w, &reply, &err);
	if (ar_str_absent(w.id))
		ar_acp_refused(a, r->id, st, &reply, &err);
	ar_api_fini(&reply);
	*ret_root = folder;
	return w.id;
}

/* ---- session/new ---- */

static struct ar_str new_body(struct ar_acp *a, struct ar_str workspace)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);
	char key[AR_SESSION_KEY_LEN];

	ar_id_mint(key);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "workspaceId", workspace);
	ar_jw_mstr(&w, "source", AR_STR("acp"));
	ar_jw_mstr(&w, "idempotencyKey", (struct ar_str){ key, sizeof(key) });
	ar_jw_close(&w);
	return ar_ctl_take_buf(a->ctl, &text);
}

/* False: a server cannot be started, which has been answered; the session is closed here. */
static bool start_servers(struct ar_acp_session *s, const struct ar_acp_request *r)
{
	const char *reason = ar_acp_servers_start(s, ar_json_get(r->params, "mcpServers"));

	if (!reason)
		return true;
	ar_acp_error(
		s->acp, r->id, AR_ACP_INVALID_PARAMS,
		"an MCP server cannot be started: %s; `agentctl acp --ignore-mcp-servers` starts sessions "
		"without them",
		reason);
	ar_acp_prompts_fail(s);
	ar_acp_session_free(s);
	return false;
}

static void answer_open(struct ar_acp_session *s, struct ar_str request, bool is_new)
{
	struct ar_jw w = ar_acp_result(s->acp, request);

	ar_jw_open(&w);
	if (is_new)
		ar_jw_mstr(&w, "sessionId", ar_buf_str(&s->id));
	ar_acp_options(s, &w);
	ar_jw_close(&w);
	ar_acp_end(s->acp, &w);
	ar_acp_commands_update(s);
}

static void follow_from(struct ar_acp_session *s, int64_t sequence)
{
	ar_acp_stream_close(s);
	ar_buf_addf(&s->stream.cursor, "%lld", (long long)sequence);
	s->stream.last_fact = sequence;
	ar_acp_stream_open(s);
}

static void open_new(struct ar_acp_session *s, const struct ar_acp_request *r, struct ar_json made)
{
	ar_buf_adds(&s->id, ar_api_str(made, "sessionId"));
	ar_buf_adds(&s->thread, ar_api_str(made, "threadId"));
	answer_open(s, r->id, true);
	follow_from(s, ar_api_int(made, "sequence"));
}

/* Servers that cannot be started leave no empty session behind. */
void ar_acp_session_new(struct ar_acp *a, const struct ar_acp_request *r)
{
	struct ar_str root, workspace;
	struct ar_api_reply reply;
	struct ar_error err = { 0 };
	struct ar_acp_session *s;
	enum ar_status st;

	if (!check_params(a, r))
		return;
	workspace = choose_workspace(a, r, &root);
	s = ar_str_absent(workspace) ? NULL : add_session(a, r, AR_STR(""));
	if (!s)
		return;
	ar_buf_adds(&s->cwd, root);
	if (!start_servers(s, r))
		return;
	st = ar_api_try(a->ctl, "create_session", new_body(a, workspace), &reply, &err);
	if (st == AR_OK && reply.http.status < 400) {
		open_new(s, r, reply.doc);
	} else {
		ar_acp_refused(a, r->id, st, &reply, &err);
		ar_acp_session_free(s);
	}
	ar_api_fini(&reply);
}

/* ---- session/load and session/resume ---- */

/* Whether the session works in the folder that the editor has open: paths would mean something else. */
static bool check_folder(struct ar_acp *a, const struct ar_acp_request *r, struct ar_json session,
			 struct ar_str *ret_root)
{
	struct ar_str id = ar_api_str(session, "workspaceId"), cwd = ar_api_str(r->params, "cwd"), real;
	struct ar_workspace w = { 0 };
	const char *reason;

	*ret_root = cwd;
	if (a->workspace || !a->ctl->socket || ar_str_absent(id) ||
	    !ar_workspace_is_id(ar_ctl_strdup(a->ctl, id)) ||
	    ar_workspace_get(a->ctl, ar_ctl_strdup(a->ctl, id), &w) != AR_EXIT_OK || ar_str_absent(w.root))
		return true;
	*ret_root = w.root;
	if (ar_workspace_path(a->ctl, ar_ctl_strdup(a->ctl, cwd), &real, &reason) && ar_str_eq(real, w.root))
		return true;
	ar_acp_error(a, r->id, AR_ACP_INVALID_PARAMS, "the session works in another folder: %.*s",
		     AR_STR_ARG(w.root));
	return false;
}

/* The place of the session, which may be open already. */
static struct ar_acp_session *place(struct ar_acp *a, const struct ar_acp_request *r, struct ar_json session,
				    struct ar_str root)
{
	struct ar_acp_session *s = find_session(a, ar_api_str(session, "sessionId"));

	if (!s)
		s = add_session(a, r, ar_api_str(session, "sessionId"));
	if (!s)
		return NULL;
	set(&s->thread, ar_api_str(ar_json_at(ar_json_get(session, "threads"), 0), "threadId"));
	set(&s->cwd, root);
	ar_buf_clear(&s->step);
	s->text = s->reasoning = 0;
	s->is_aside = false;
	ar_acp_stream_close(s);
	ar_acp_questions_free(s);
	forget_calls(s);
	return s;
}

/* The facts are read either way: they say which questions are open and which mode was in use. */
static void open_again(struct ar_acp *a, const struct ar_acp_request *r, struct ar_json session,
		       bool is_shown)
{
	int64_t until = ar_api_int(session, "asOfSequence");
	struct ar_acp_session *s;
	struct ar_str root;

	if (!check_folder(a, r, session, &root))
		return;
	s = place(a, r, session, root);
	if (!s || !start_servers(s, r))
		return;
	s->is_replay = true;
	s->is_silent = !is_shown;
	if (!ar_acp_replay(s, r->id, until)) {
		ar_acp_prompts_fail(s);
		ar_acp_session_free(s);
		return;
	}
	s->is_replay = s->is_silent = false;
	answer_open(s, r->id, false);
	ar_acp_questions_ask(s);
	follow_from(s, until);
}

static void reopen(struct ar_acp *a, const struct ar_acp_request *r, bool is_shown)
{
	struct ar_api_reply reply;
	struct ar_error err = { 0 };
	struct ar_str id = ar_api_str(r->params, "sessionId");
	enum ar_status st;

	if (!check_params(a, r))
		return;
	st = ar_api_try(a->ctl, "get_session", ar_resolve_body(a->ctl, "sessionId", id), &reply, &err);
	if (st == AR_OK && reply.http.status < 400)
		open_again(a, r, reply.doc, is_shown);
	else
		ar_acp_refused(a, r->id, st, &reply, &err);
	ar_api_fini(&reply);
}

void ar_acp_session_load(struct ar_acp *a, const struct ar_acp_request *r)
{
	reopen(a, r, true);
}

void ar_acp_session_resume(struct ar_acp *a, const struct ar_acp_request *r)
{
	reopen(a, r, false);
}

/* ---- session/close ---- */

static bool has_prompts(const struct ar_acp_session *s)
{
	for (size_t i = 0; i < AR_ACP_PROMPTS; i++) {
		if (s->prompts[i].id.len)
			return true;
	}
	return false;
}

/* Stops what this editor asked for, not what another did. */
void ar_acp_session_close(struct ar_acp *a, const struct ar_acp_request *r)
{
	struct ar_acp_session *s = ar_acp_session_of(a, r);

	if (!s)
		return;
	if (has_prompts(s))
		ar_acp_interrupt(s);
	ar_acp_prompts_fail(s);
	ar_acp_session_free(s);
	ar_acp_result_empty(a, r->id);
}
