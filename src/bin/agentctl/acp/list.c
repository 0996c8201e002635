/* See acp.h: session/list. Sessions that work in no folder are left out: an editor could not open them. */
#include "acp/acp.h"
#include "daemon.h"
#include "resolve.h"
#include "workspace/workspace.h"

#include <string.h>

#define PAGE 100
#define ROOTS 32 /* workspaces whose folder is looked up once */

struct roots {
	struct ar_workspace at[ROOTS];
	size_t count;
};

/* The folder of a workspace; absent: it has none that we know. */
static struct ar_str root_of(struct ar_acp *a, struct roots *known, struct ar_str id)
{
	const char *word = ar_str_absent(id) ? "" : ar_ctl_strdup(a->ctl, id);
	struct ar_workspace w = { 0 };

	for (size_t i = 0; i < known->count; i++) {
		if (ar_str_eq(known->at[i].id, id))
			return known->at[i].root;
	}
	if (!ar_workspace_is_id(word) || ar_workspace_get(a->ctl, word, &w) != AR_EXIT_OK)
		w.root = AR_STR_NONE;
	w.id = ar_arena_str(&a->ctl->arena, id);
	if (known->count < ROOTS)
		known->at[known->count++] = w;
	return w.root;
}

static void add_sessions(struct ar_acp *a, struct ar_jw *w, struct ar_json sessions)
{
	struct roots known = { .count = 0 };

	ar_jw_open_array(w);
	for (struct ar_json_iter it = ar_json_iter(sessions); ar_json_next(&it);) {
		struct ar_str root = root_of(a, &known, ar_api_str(it.value, "workspaceId"));

		if (ar_str_absent(root))
			continue;
		ar_jw_open(w);
		ar_jw_mstr(w, "sessionId", ar_api_str(it.value, "sessionId"));
		ar_jw_mstr(w, "cwd", root);
		ar_jw_mstr(w, "title", ar_api_str(it.value, "title"));
		ar_jw_mstr(w, "updatedAt", ar_api_str(it.value, "updatedAt"));
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

/* The workspace that is listed; false: the folder has none, so it has no session. */
static bool find_workspace(struct ar_acp *a, const struct ar_acp_request *r, struct ar_str *ret)
{
	struct ar_str cwd = ar_api_str(r->params, "cwd"), folder;
	struct ar_workspace w = { 0 };
	const char *reason;

	*ret = ar_str_from(a->workspace);
	if (a->workspace || ar_str_absent(cwd))
		return true;
	if (memchr(cwd.p, '\0', cwd.len) || !a->ctl->socket ||
	    !ar_workspace_path(a->ctl, ar_ctl_strdup(a->ctl, cwd), &folder, &reason) ||
	    ar_workspace_find(a->ctl, folder, &w) != AR_EXIT_OK)
		return false;
	*ret = w.id;
	return !ar_str_absent(w.id);
}

static struct ar_str list_body(struct ar_acp *a, struct ar_str workspace, struct ar_str cursor)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "workspace", workspace);
	ar_jw_mstr(&w, "cursor", cursor);
	ar_jw_mint(&w, "limit", PAGE);
	ar_jw_close(&w);
	return ar_ctl_take_buf(a->ctl, &text);
}

static void answer_list(struct ar_acp *a, const struct ar_acp_request *r, struct ar_json page)
{
	struct ar_buf list = { 0 };
	struct ar_jw inner = ar_jw(&list), w;

	add_sessions(a, &inner, ar_json_get(page, "sessions"));
	w = ar_acp_result(a, r->id);
	ar_jw_open(&w);
	ar_jw_mraw(&w, "sessions", ar_buf_str(&list));
	ar_jw_mstr(&w, "nextCursor", ar_api_str(page, "nextCursor"));
	ar_jw_close(&w);
	ar_acp_end(a, &w);
	ar_buf_fini(&list);
}

void ar_acp_session_list(struct ar_acp *a, const struct ar_acp_request *r)
{
	struct ar_str workspace;
	struct ar_api_reply reply;
	struct ar_error err = { 0 };
	enum ar_status st;

	if (ar_daemon_ensure(a->ctl) != AR_EXIT_OK) {
		ar_acp_error(a, r->id, AR_ACP_INTERNAL,
			     "no agentd answers; `agentctl doctor` finds the cause");
		return;
	}
	if (!find_workspace(a, r, &workspace)) {
		answer_list(a, r, (struct ar_json){ 0 });
		return;
	}
	st = ar_api_try(a->ctl, "list_sessions", list_body(a, workspace, ar_api_str(r->params, "cursor")),
			&reply, &err);
	if (st == AR_OK && reply.http.status < 400)
		answer_list(a, r, reply.doc);
	else
		ar_acp_refused(a, r->id, st, &reply, &err);
	ar_api_fini(&reply);
}
