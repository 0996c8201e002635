/* See acp.h: files that a call changed, as the daemon recorded them: the text before is beside the result,
 * the text after is the stored version. Files are never read here: a sandboxed process may have put a link
 * in their place. */
#include "acp/acp.h"

/* The stored new text of a file of the call; false: it is not known. */
static bool read_after(struct ar_acp *a, const struct ar_acp_call *call, struct ar_str path,
		       struct ar_buf *to)
{
	for (size_t i = 0; i < call->file_count; i++) {
		if (ar_str_eq(ar_buf_str(&call->files[i].path), path))
			return ar_acp_content(a, ar_buf_str(&call->files[i].ref), AR_ACP_TEXT_MAX, to);
	}
	return false;
}

static void add_diff(struct ar_acp_session *s, struct ar_jw *w, struct ar_json change, struct ar_str after)
{
	struct ar_str before = ar_api_str(change, "before");

	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("diff"));
	ar_acp_path(s, w, ar_api_str(change, "path"));
	ar_jw_mstr(w, "oldText", before);
	ar_jw_mstr(w, "newText", after);
	ar_jw_close(w);
}

/* A file that is not text is left out. */
static bool show_change(struct ar_acp_session *s, struct ar_jw *w, const struct ar_acp_call *call,
			struct ar_json change)
{
	struct ar_str encoding = ar_api_str(change, "encoding"), path = ar_api_str(change, "path");
	bool is_gone = ar_str_is(ar_api_str(change, "kind"), "deleted"), is_known;
	struct ar_buf after = { 0 };

	if (ar_str_empty(path) || (!ar_str_absent(encoding) && !ar_str_is(encoding, "utf-8")))
		return false;
	is_known = is_gone || read_after(s->acp, call, path, &after);
	if (is_known)
		add_diff(s, w, change, ar_buf_str(&after));
	ar_buf_fini(&after);
	return is_known;
}

size_t ar_acp_diffs(struct ar_acp_session *s, struct ar_jw *w, const struct ar_acp_call *call,
		    struct ar_str changes)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json list;
	size_t count = 0;

	if (ar_json_parse(parser, changes, &list, NULL) != AR_OK)
		list = (struct ar_json){ 0 };
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it) && count < AR_ACP_FILES;)
		count += show_change(s, w, call, it.value);
	ar_json_parser_free(parser);
	return count;
}
