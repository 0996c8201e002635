/* See artifacts.h. */
#include "artifacts.h"

#include "base64.h"
#include "hash.h"

#include <string.h>

static struct ar_str text_member(struct ar_json v, const char *name)
{
	struct ar_str s = AR_STR_NONE;

	ar_json_str(ar_json_get(v, name), &s);
	return s;
}

static enum ar_tool_change change_of(struct ar_str kind)
{
	if (ar_str_is(kind, "created"))
		return AR_TOOL_CREATED;
	return ar_str_is(kind, "deleted") ? AR_TOOL_DELETED : AR_TOOL_MODIFIED;
}

static bool is_hash(struct ar_str text)
{
	if (text.len != AR_HASH_HEX)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!strchr("0123456789abcdef", text.p[i]) || !text.p[i])
			return false;
	}
	return true;
}

/* Absent when there is none, or it is no base64. */
static struct ar_str content_of(struct ar_arena *a, struct ar_json v)
{
	struct ar_str text = text_member(v, "content"), bytes = AR_STR_NONE;

	if (!ar_str_is(text_member(v, "encoding"), "base64"))
		return text;
	return ar_base64_decode(a, text, &bytes) ? bytes : AR_STR_NONE;
}

static bool read_artifact(struct ar_arena *a, struct ar_json v, struct ar_tool_artifact *ret)
{
	*ret = (struct ar_tool_artifact){ .path = text_member(v, "path"),
					  .change = change_of(text_member(v, "kind")),
					  .version = text_member(v, "hash"),
					  .content = content_of(a, v),
					  .diff = text_member(v, "diff") };
	ar_json_i64(ar_json_get(v, "size"), &ret->size);
	return !ar_str_empty(ret->path) && (ret->change == AR_TOOL_DELETED || is_hash(ret->version)) &&
	       ret->size >= 0;
}

const struct ar_tool_artifact *ar_contained_artifacts(struct ar_arena *a, struct ar_json versions,
						      size_t *ret_count)
{
	struct ar_tool_artifact *at;
	size_t count = 0;

	*ret_count = 0;
	if (ar_json_type(versions) != AR_JSON_ARRAY)
		return NULL;
	at = ar_arena_alloc(a, AR_CONTAINED_ARTIFACTS_MAX * sizeof(*at));
	for (struct ar_json_iter it = ar_json_iter(versions);
	     count < AR_CONTAINED_ARTIFACTS_MAX && ar_json_next(&it);)
		count += read_artifact(a, it.value, &at[count]);
	*ret_count = count;
	return at;
}
