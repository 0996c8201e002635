/* What READY said of missing paths, read from its JSON; looked at from outside at the end. */
#include "evidence/missing.h"
#include "shim.h"

#include <string.h>

#define NAMED_MAX 4096 /* of JSON text; longer ones are reported without their name */

static int hex_value(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* agent-init escapes as \u00XX alone, and says U+FFFD for what no JSON can carry. */
static int escaped_byte(const char *p)
{
	int high = hex_value(p[4]), low = hex_value(p[5]);

	return memcmp(p, "\\u00", 4) == 0 && high >= 0 && low >= 0 ? high * 16 + low : -1;
}

/* False: it cannot be a path of ours. */
static bool decode_path(struct ar_piece text, char out[PATH_MAX])
{
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		int c = (unsigned char)text.p[i];

		if (len == PATH_MAX - 1)
			return false;
		if (c == '\\') {
			c = text.len - i >= 6 ? escaped_byte(text.p + i) : -1;
			i += 5;
		}
		if (c <= 0)
			return false;
		out[len++] = (char)c;
	}
	out[len] = '\0';
	return len > 0;
}

void ar_missing_paths_begin(struct ar_missing_paths *o, struct ar_piece ready)
{
	struct ar_piece list = { 0 }, roots = { 0 }, first = { 0 };
	char workspace[PATH_MAX];
	size_t at = 0;

	o->seen.workspace = -1;
	/* The workspace is the first of what may be written; where nothing may, nothing is made. */
	if (!ar_json_member(ready, "writeRoots", &roots) || !ar_json_next_string(roots, &at, &first) ||
	    !decode_path(first, workspace))
		return;
	ar_observed_open(&o->seen, workspace);
	if (!ar_json_member(ready, "skipped", &list) || list.len > sizeof(o->paths))
		return;
	memcpy(o->paths, list.p, list.len);
	o->len = list.len;
}

/* As many names of the path's JSON text as `cut` has: a slash is never escaped. */
static struct ar_piece first_names(struct ar_piece path, const char *cut)
{
	size_t names = 1;

	for (; *cut; cut++)
		names += *cut == '/';
	for (size_t i = 0; i < path.len; i++) {
		if (path.p[i] == '/' && --names == 0)
			path.len = i;
	}
	return path;
}

static bool write_violation(struct ar_shim *s, const char *what, struct ar_piece path)
{
	static const struct ar_piece unnamed = { "a protected path", 16 };

	if (path.len > NAMED_MAX)
		path = unnamed;
	return ar_journal_file_addf(
		&s->journal, AR_RECORD_VIOLATION,
		"{\"boundary\":\"filesystem\",\"attempted\":\"%s %.*s\",\"effect\":\"logged\","
		"\"evidence\":\"observed\",\"count\":1,\"isLast\":true}",
		what, (int)path.len, path.p);
}

bool ar_missing_paths_finish(struct ar_shim *s)
{
	struct ar_missing_paths *o = &s->missing;
	struct ar_piece list = { o->paths, o->len }, path;
	size_t at = o->at;

	while (o->seen.workspace >= 0 && ar_json_next_string(list, &at, &path)) {
		char name[PATH_MAX];
		const char *what = decode_path(path, name) ? ar_observed_check(&o->seen, name) : NULL;

		if (what && !write_violation(s, what, first_names(path, name))) {
			o->seen.last[0] = '\0';
			return false;
		}
		o->at = at;
	}
	return true;
}
