/* What a grant for the session is about, as a digest: one command in one folder, or a tool as
 * its owner describes it. What has none cannot be granted for longer than one call. Pure. */
#include "command.h"
#include "decide.h"
#include "permission/permission.h"

#define COVERS_LEN 32

static struct ar_str digest(struct ar_decision *d, struct ar_str json)
{
	struct ar_hash h = ar_hash_of(json);
	char text[AR_HASH_HEX];

	ar_hash_hex(&h, text);
	return ar_arena_str(d->arena, (struct ar_str){ text, COVERS_LEN });
}

/* ---- commands ---- */

/* Redirections that write nothing: to another output of the same command, or to nowhere. */
static const char *const silent[] = { "2>&1",	     "1>&2",	    ">&2",	 ">/dev/null",
				      "1>/dev/null", "2>/dev/null", "</dev/null" };

static size_t silent_at(struct ar_str text, size_t at)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(silent); i++) {
		struct ar_str one = ar_str_from(silent[i]), after = ar_str_sub(text, at + one.len, 1);

		if (ar_str_starts(ar_str_sub(text, at, one.len), one) &&
		    (after.len == 0 || __builtin_strchr(" \n;|", after.p[0])))
			return one.len;
	}
	return 0;
}

/* None of the bytes of such a redirection means something else inside quotes, so it does not
 * matter where they stand. */
bool ar_covers_nearly_literal(struct ar_arena *a, struct ar_str text)
{
	struct ar_command_line rest = { 0 };
	struct ar_buf without = { 0 };

	for (size_t at = 0; at < text.len;) {
		size_t skip = at > 0 && text.p[at - 1] == ' ' ? silent_at(text, at) : 0;

		if (skip == 0)
			ar_buf_addc(&without, text.p[at]);
		at += skip ? skip : 1;
	}
	if (without.len < text.len)
		ar_command_read_literal(ar_arena_str(a, ar_buf_str(&without)), a, &rest);
	ar_buf_fini(&without);
	return !rest.is_opaque && rest.count > 0;
}

struct ar_str ar_covers_command(struct ar_decision *d, const struct ar_command_line *c, struct ar_str text,
				struct ar_str input)
{
	bool is_literal = !c->is_opaque && c->count > 0;
	struct ar_jw w;

	if (ar_command_is_destructive(c) ||
	    (!is_literal && (ar_str_absent(text) || !ar_covers_nearly_literal(d->arena, text))))
		return AR_STR_NONE;
	w = ar_decide_json(d);
	ar_jw_open_array(&w);
	ar_jw_str(&w, c->cwd);
	if (is_literal)
		ar_command_words_json(c, &w);
	else
		ar_jw_str(&w, text);
	if (!ar_str_absent(input))
		ar_jw_str(&w, input);
	ar_jw_close_array(&w);
	return digest(d, ar_decide_json_end(d));
}

/* ---- tools ---- */

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
	return digest(d, ar_decide_json_end(d));
}
