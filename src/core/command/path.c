/* Paths by their text alone: `.`, `..`, doubled and trailing slashes are taken out, and what lies
 * below the root is told from there. Links are not followed: nothing here touches a disk, so it
 * informs rules and bounds nothing. Pure. */
#include "command.h"

#include <string.h>

struct out {
	char *p;
	size_t len;
	bool is_absolute, is_full;
};

/* Without its last part. A path that has none left climbs: /.. is /, and .. stays. */
static bool drop_part(struct out *o)
{
	size_t at = o->len;

	while (at > 0 && o->p[at - 1] != '/')
		at--;
	if (o->len == 0 || (o->len - at == 2 && memcmp(o->p + at, "..", 2) == 0))
		return o->is_absolute;
	o->len = at > 0 ? at - 1 : 0;
	return true;
}

static void add_part(struct out *o, struct ar_str part)
{
	if (ar_str_empty(part) || ar_str_is(part, ".") || (ar_str_is(part, "..") && drop_part(o)))
		return;
	if (o->len + part.len + 2 > AR_PATH_TEXT_MAX) {
		o->is_full = true;
		return;
	}
	if (o->len > 0 || o->is_absolute)
		o->p[o->len++] = '/';
	memcpy(o->p + o->len, part.p, part.len);
	o->len += part.len;
}

static void add_path(struct out *o, struct ar_str path)
{
	struct ar_str part;

	if (!ar_str_empty(path) && path.p[0] == '/') {
		o->is_absolute = true;
		o->len = 0;
	}
	while (!ar_str_absent(path)) {
		path = ar_str_split(path, '/', &part);
		add_part(o, part);
	}
}

struct ar_str ar_path_resolve(struct ar_str root, struct ar_str cwd, struct ar_str path,
			      char out[static AR_PATH_TEXT_MAX])
{
	struct out o = { .p = out };

	add_path(&o, root);
	add_path(&o, cwd);
	add_path(&o, path);
	if (o.is_full)
		return AR_STR_NONE;
	if (o.len == 0)
		out[o.len++] = o.is_absolute ? '/' : '.';
	return (struct ar_str){ out, o.len };
}

struct ar_str ar_path_relative(struct ar_str root, struct ar_str cwd, struct ar_str path,
			       char out[static AR_PATH_TEXT_MAX])
{
	char top[AR_PATH_TEXT_MAX];
	struct ar_str all = ar_path_resolve(root, cwd, path, out);
	struct ar_str base = ar_path_resolve(AR_STR_NONE, AR_STR_NONE, root, top);

	if (ar_str_empty(root) || ar_str_empty(base) || !ar_str_starts(all, base))
		return all;
	if (all.len == base.len)
		return AR_STR(".");
	if (base.p[base.len - 1] == '/')
		return ar_str_sub(all, base.len, all.len);
	return all.p[base.len] == '/' ? ar_str_sub(all, base.len + 1, all.len) : all;
}
