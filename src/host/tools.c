/* See tools.h. */
#include "tools.h"

#include "http_tools.h"
#include "local_tools.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One name for the folder, whatever the process's own folder is and becomes. */
static enum ar_status find_workspace(const char *setting, struct ar_arena *a, struct ar_str *ret,
				     struct ar_error *err)
{
	char path[PATH_MAX];
	struct stat st;

	if (!*setting)
		return AR_OK;
	if (!realpath(setting, path) || stat(path, &st) != 0)
		return ar_fail(err, AR_E_INVALID, "tools.workspace '%.100s' cannot be opened: %s", setting,
			       strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return ar_fail(err, AR_E_INVALID,
			       "tools.workspace '%.100s' is no folder; name one, or leave it empty", setting);
	*ret = ar_arena_str(a, ar_str_from(path));
	return AR_OK;
}

/* Decisions look into the inventory at any time: it is made anew before the next one. */
static void refresh(void *arg)
{
	struct ar_tools *t = arg;

	t->policy->inventory = ar_toolbox_inventory(t->box);
}

enum ar_status ar_tools_open(uv_loop_t *loop, const struct ar_config *c, struct ar_policy *policy,
			     struct ar_arena *a, struct ar_tools *ret, struct ar_error *err)
{
	struct ar_tool_source *http;

	if (find_workspace(c->tools.workspace, a, &ret->workspace, err) != AR_OK ||
	    ar_http_tools_open(loop, c, &http, err) != AR_OK)
		return err->status;
	ret->policy = policy;
	ret->box = ar_toolbox_new();
	if (!ar_str_absent(ret->workspace))
		ar_toolbox_add(ret->box,
			       ar_local_tools_new(loop,
						  &(struct ar_local_options){
							  .max_result_bytes =
								  (uint32_t)c->tools.max_result_bytes }));
	if (http)
		ar_toolbox_add(ret->box, http);
	ar_toolbox_on_change(ret->box, refresh, ret);
	refresh(ret);
	return AR_OK;
}

void ar_tools_close(struct ar_tools *t)
{
	if (t->policy)
		t->policy->inventory = NULL;
	ar_toolbox_close(t->box);
	t->box = NULL;
}
