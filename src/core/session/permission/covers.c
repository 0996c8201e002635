/* What a grant for the session is about: a tool as its owner describes it, as a digest. What has none
 * cannot be granted for longer than one call. Pure. */
#include "decide.h"
#include "permission/permission.h"

bool ar_covers_nothing(const struct ar_tool *tool)
{
	return tool && tool->is_destructive && !tool->is_assumed;
}

struct ar_str ar_covers_tool(struct ar_decision *d, const struct ar_tool *tool)
{
	struct ar_jw w;

	if (!tool || ar_covers_nothing(tool) || (tool->owner != AR_TOOL_MCP && tool->owner != AR_TOOL_CLIENT))
		return AR_STR_NONE;
	w = ar_decide_json(d);
	ar_jw_open_array(&w);
	ar_jw_str(&w, tool->name);
	ar_jw_str(&w, tool->origin);
	ar_jw_str(&w, tool->description);
	ar_jw_str(&w, tool->schema);
	ar_jw_str(&w, tool->annotations);
	ar_jw_bool(&w, tool->is_read_only);
	ar_jw_bool(&w, tool->is_destructive);
	ar_jw_bool(&w, tool->is_idempotent);
	ar_jw_close_array(&w);
	return ar_hash_digits(d->arena, ar_decide_json_end(d), AR_COVERS_LEN);
}
