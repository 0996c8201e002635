/* See workspace.h: from a word of a person to a folder, and from a folder to its workspace. */
#include "id.h"
#include "resolve.h"
#include "workspace/workspace.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ID "ws_"
#define PAGE 200
#define PAGES 50 /* what is beyond that is named by its id */

bool ar_workspace_is_id(const char *word)
{
	struct ar_str id = ar_str_from(word);

	return ar_str_starts(id, AR_STR(ID)) && id.len == strlen(ID) + AR_SESSION_KEY_LEN &&
	       !ar_str_absent(ar_id_session_key(id));
}

bool ar_workspace_path(struct ar_ctl *c, const char *word, struct ar_str *ret, const char **ret_reason)
{
	char path[PATH_MAX];

	/* The kernel names the current folder without links; a folder that was unmounted or is outside
	 * of our root has no absolute path. */
	if (!(word ? realpath(word, path) : getcwd(path, sizeof(path)))) {
		*ret_reason = strerror(errno);
		return false;
	}
	if (path[0] != '/') {
		*ret_reason = "it cannot be reached from the root folder";
		return false;
	}
	if (!ar_str_is_utf8(ar_str_from(path))) {
		*ret_reason = "its path is not UTF-8";
		return false;
	}
	*ret = ar_arena_str(&c->arena, ar_str_from(path));
	return true;
}

enum ar_exit ar_workspace_folder(struct ar_ctl *c, const char *word, struct ar_str *ret)
{
	const char *reason;

	if (!c->socket)
		return ar_ctl_complain(c, AR_EXIT_USAGE,
				       AR_STR("name the workspace by its id: agentctl workspace list"),
				       "a folder of this machine says nothing to the daemon at %s", c->url);
	if (ar_workspace_path(c, word, ret, &reason))
		return AR_EXIT_OK;
	return ar_ctl_complain(c, AR_EXIT_USAGE,
			       AR_STR("name a folder that is there, or the id of a workspace"),
			       "the folder %s cannot be used: %s", word ? word : ".", reason);
}

struct ar_workspace ar_workspace_read(struct ar_ctl *c, struct ar_json record)
{
	return (struct ar_workspace){ .id = ar_arena_str(&c->arena, ar_api_str(record, "workspaceId")),
				      .root = ar_arena_str(&c->arena, ar_api_str(record, "root")),
				      .is_trusted = ar_str_is(ar_api_str(record, "trust"), "trusted") };
}

enum ar_status ar_workspace_make(struct ar_ctl *c, struct ar_str root, struct ar_workspace *ret,
				 struct ar_api_reply *reply, struct ar_error *err)
{
	enum ar_status st = ar_api_try(c, "create_workspace", ar_resolve_body(c, "root", root), reply, err);

	*ret = (struct ar_workspace){ 0 };
	if (st == AR_OK && reply->http.status < 400)
		*ret = ar_workspace_read(c, ar_json_get(reply->doc, "workspace"));
	return st;
}

enum ar_exit ar_workspace_get(struct ar_ctl *c, const char *id, struct ar_workspace *ret)
{
	struct ar_api_reply reply;
	enum ar_exit exit =
		ar_api_call(c, "get_workspace", ar_resolve_body(c, "workspaceId", ar_str_from(id)), &reply);

	if (exit == AR_EXIT_OK)
		*ret = ar_workspace_read(c, ar_json_get(reply.doc, "workspace"));
	ar_api_fini(&reply);
	return exit;
}

static struct ar_str page_body(struct ar_ctl *c, struct ar_str cursor)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "status", AR_STR("all"));
	ar_jw_mint(&w, "limit", PAGE);
	ar_jw_mstr(&w, "cursor", cursor);
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &text);
}

enum ar_exit ar_workspace_find(struct ar_ctl *c, struct ar_str root, struct ar_workspace *ret)
{
	struct ar_str cursor = AR_STR_NONE;
	enum ar_exit exit = AR_EXIT_OK;

	*ret = (struct ar_workspace){ 0 };
	for (int i = 0; i == 0 || (i < PAGES && !exit && cursor.len && ar_str_absent(ret->id)); i++) {
		struct ar_api_reply page;

		exit = ar_api_call(c, "list_workspaces", page_body(c, cursor), &page);
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(page.doc, "workspaces"));
		     exit == AR_EXIT_OK && ar_json_next(&it);) {
			if (ar_str_eq(ar_api_str(it.value, "root"), root))
				*ret = ar_workspace_read(c, it.value);
		}
		cursor = ar_arena_str(&c->arena, ar_api_str(page.doc, "nextCursor"));
		ar_api_fini(&page);
	}
	return exit;
}
