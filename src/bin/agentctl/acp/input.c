/* See acp.h: the content blocks of a prompt as parts of a turn. A link to a file is given by its path: the
 * agent reads it with its own tools, in its sandbox. */
#include "acp/acp.h"

#define BLOCKS_MAX 256
#define FILE_SCHEME "file://"

static void add_text(struct ar_jw *w, struct ar_str text)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("text"));
	ar_jw_mstr(w, "text", text);
	ar_jw_close(w);
}

static void add_image(struct ar_jw *w, struct ar_str mime, struct ar_str bytes)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("image"));
	ar_jw_mstr(w, "data", bytes);
	ar_jw_mstr(w, "mimeType", mime);
	ar_jw_close(w);
}

/* ---- links ---- */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The path of a file: uri, without its fragment; absent: it is none, or says one file in two ways. */
static struct ar_str path_of(struct ar_arena *arena, struct ar_str uri)
{
	struct ar_buf path = { 0 };
	struct ar_str kept;

	if (!ar_str_starts(uri, AR_STR(FILE_SCHEME)))
		return AR_STR_NONE;
	ar_str_split(ar_str_sub(uri, sizeof(FILE_SCHEME) - 1, uri.len), '#', &uri);
	for (size_t i = 0; i < uri.len; i++) {
		char c = uri.p[i];

		if (c == '%' && i + 2 < uri.len && hex(uri.p[i + 1]) >= 0 && hex(uri.p[i + 2]) >= 0) {
			c = (char)(hex(uri.p[i + 1]) << 4 | hex(uri.p[i + 2]));
			i += 2;
		}
		ar_buf_addc(&path, c);
	}
	kept = ar_arena_str(arena, ar_buf_str(&path));
	ar_buf_fini(&path);
	return ar_str_is_plain_path(kept) && ar_str_is_utf8(kept) ? kept : AR_STR_NONE;
}

static bool is_inside(struct ar_acp_session *s, struct ar_str path)
{
	struct ar_str cwd = ar_buf_str(&s->cwd);

	return cwd.len && ar_str_starts(path, cwd) && path.len > cwd.len && path.p[cwd.len] == '/';
}

/* Only files of the session's folder are asked for: what else the editor has open is not our business. */
static void want_buffer(struct ar_acp_session *s, struct ar_acp_prompt *p, struct ar_str path)
{
	if (!s->acp->can_read || ar_str_absent(path) || !is_inside(s, path))
		return;
	for (size_t i = 0; i < AR_ACP_BUFFERS; i++) {
		if (p->buffers[i].path.len && !ar_str_eq(ar_buf_str(&p->buffers[i].path), path))
			continue;
		ar_buf_clear(&p->buffers[i].path);
		ar_buf_adds(&p->buffers[i].path, path);
		return;
	}
}

static bool add_link(struct ar_acp_session *s, struct ar_acp_prompt *p, struct ar_jw *w, struct ar_json block)
{
	struct ar_str uri = ar_api_str(block, "uri"), path = path_of(&s->acp->ctl->arena, uri);

	if (ar_str_empty(uri))
		return false;
	add_text(w, ar_arena_fmt(&s->acp->ctl->arena, "[%s: %.*s]", ar_str_absent(path) ? "link" : "file",
				 AR_STR_ARG(ar_str_absent(path) ? uri : path)));
	want_buffer(s, p, path);
	return true;
}

/* ---- content that comes with the prompt ---- */

static bool add_resource(struct ar_acp_session *s, struct ar_jw *w, struct ar_json resource)
{
	struct ar_str uri = ar_api_str(resource, "uri"), text = ar_api_str(resource, "text");
	struct ar_str mime = ar_api_str(resource, "mimeType"), path = path_of(&s->acp->ctl->arena, uri);
	struct ar_str parts[] = { AR_STR("Content of "), ar_str_absent(path) ? uri : path, AR_STR(":\n\n"),
				  text };

	if (!ar_str_absent(text))
		add_text(w, ar_arena_join(&s->acp->ctl->arena, parts, AR_ARRAY_LEN(parts)));
	else if (ar_str_starts(mime, AR_STR("image/")) && !ar_str_absent(ar_api_str(resource, "blob")))
		add_image(w, mime, ar_api_str(resource, "blob"));
	else
		return false;
	return true;
}

static bool add_block(struct ar_acp_session *s, struct ar_acp_prompt *p, struct ar_jw *w,
		      struct ar_json block)
{
	struct ar_str type = ar_api_str(block, "type"), text = ar_api_str(block, "text");
	struct ar_str mime = ar_api_str(block, "mimeType"), bytes = ar_api_str(block, "data");

	if (ar_str_is(type, "text") && !ar_str_absent(text))
		add_text(w, text);
	else if (ar_str_is(type, "image") && ar_str_starts(mime, AR_STR("image/")) && !ar_str_absent(bytes))
		add_image(w, mime, bytes);
	else if (ar_str_is(type, "resource_link"))
		return add_link(s, p, w, block);
	else if (ar_str_is(type, "resource"))
		return add_resource(s, w, ar_json_get(block, "resource"));
	else
		return false;
	return true;
}

bool ar_acp_input(struct ar_acp_session *s, struct ar_acp_prompt *p, struct ar_json blocks,
		  const char **ret_reason)
{
	struct ar_jw w = ar_jw(&p->input);
	size_t count = ar_json_type(blocks) == AR_JSON_ARRAY ? ar_json_len(blocks) : 0;

	*ret_reason = "prompt is an array of 1 to 256 content blocks";
	if (!count || count > BLOCKS_MAX)
		return false;
	*ret_reason =
		"a content block is text, an image, a resource link, or a resource with text or an image";
	ar_jw_open_array(&w);
	for (struct ar_json_iter it = ar_json_iter(blocks); ar_json_next(&it);) {
		if (!add_block(s, p, &w, it.value))
			return false;
	}
	ar_jw_close_array(&w);
	return true;
}
