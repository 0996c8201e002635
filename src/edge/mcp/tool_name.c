/* See tool_name.h. Pure. */
#include "tool_name.h"

#include "buf.h"
#include "hash.h"
#include "tool.h"

#include <string.h>

#define MARK 8

static void add_clean(struct ar_buf *out, struct ar_str s)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	for (size_t i = 0; i < s.len; i++)
		ar_buf_addc(out, s.p[i] && strchr(allowed, s.p[i]) ? s.p[i] : '_');
}

struct ar_str ar_mcp_tool_name(struct ar_arena *a, struct ar_str server, struct ar_str tool, bool marked)
{
	struct ar_buf name = { 0 }, full = { 0 };
	char mark[AR_HASH_TEXT];
	struct ar_hash hash;
	struct ar_str ret;

	add_clean(&name, server);
	ar_buf_addc(&name, '_');
	add_clean(&name, tool);
	if (marked || name.len > AR_TOOL_NAME_MAX) {
		ar_buf_addf(&full, "%zu:%.*s%.*s", server.len, AR_STR_ARG(server), AR_STR_ARG(tool));
		hash = ar_hash_of(ar_buf_str(&full));
		ar_hash_text(&hash, mark);
		if (name.len > AR_TOOL_NAME_MAX - MARK - 1)
			name.len = AR_TOOL_NAME_MAX - MARK - 1;
		ar_buf_addc(&name, '_');
		ar_buf_add(&name, mark, MARK);
	}
	ret = ar_arena_str(a, ar_buf_str(&name));
	ar_buf_fini(&name);
	ar_buf_fini(&full);
	return ret;
}
