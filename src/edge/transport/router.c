/* Table-driven routing. A path may exist for another method only; then the answer says which. Pure functions,
 * any thread. */
#include "router.h"

#include <string.h>
#include <strings.h>

bool ar_target_parse(struct ar_str text, struct ar_target *ret)
{
	static const char scheme[] = "http://";
	size_t len = sizeof scheme - 1;

	*ret = (struct ar_target){ 0 };
	if (text.len > len && strncasecmp(text.p, scheme, len) == 0) {
		struct ar_str rest = ar_str_sub(text, len, text.len);
		const char *slash = memchr(rest.p, '/', rest.len);

		if (!slash)
			return false;
		ret->authority = ar_str_sub(rest, 0, (size_t)(slash - rest.p));
		text = ar_str_sub(rest, ret->authority.len, rest.len);
	}
	ret->query = ar_str_split(text, '?', &ret->path);
	return ret->path.len && ret->path.p[0] == '/';
}

static bool add_param(struct ar_http_route *r, struct ar_str name, struct ar_str value)
{
	if (r->param_count == AR_ROUTE_PARAMS || ar_str_empty(value))
		return false;
	r->params[r->param_count++] = (struct ar_route_param){ name, value };
	return true;
}

/* Segment by segment; `{name}` takes any non-empty segment. */
static bool match(struct ar_str want, struct ar_str path, struct ar_http_route *r)
{
	struct ar_str w, p;

	r->param_count = 0;
	while (!ar_str_absent(want) && !ar_str_absent(path)) {
		want = ar_str_split(want, '/', &w);
		path = ar_str_split(path, '/', &p);
		if (w.len > 2 && w.p[0] == '{') {
			if (!add_param(r, ar_str_sub(w, 1, w.len - 2), p))
				return false;
		} else if (!ar_str_eq(w, p)) {
			return false;
		}
	}
	return ar_str_absent(want) && ar_str_absent(path);
}

/* One of several paths, with a space between. */
static bool match_any(const char *patterns, struct ar_str path, struct ar_http_route *r)
{
	struct ar_str rest = ar_str_from(patterns), pattern;

	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, ' ', &pattern);
		if (match(pattern, path, r))
			return true;
	}
	return false;
}

static void set_command(struct ar_http_route *r, const struct ar_command_desc *d, bool is_get)
{
	r->command = d;
	r->access = AR_ACCESS_ANY;
	r->is_get = is_get;
}

/* Those that no command answers. */
static bool find_fixed(struct ar_str path, bool is_get, struct ar_http_route *r)
{
	for (int i = AR_ROUTE_NONE + 1; i < AR_ROUTE_COUNT; i++) {
		if (ar_route_descs[i].is_get == is_get &&
		    match(ar_str_from(ar_route_descs[i].path), path, r)) {
			r->name = (enum ar_route_name)i;
			r->access = ar_route_descs[i].access;
			r->is_get = is_get;
			return true;
		}
	}
	return false;
}

static bool find_get(const struct ar_command_table *t, struct ar_str path, struct ar_http_route *r)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct ar_command_desc *d = &t->rows[i];

		if (d->name && d->get_route && match_any(d->get_route, path, r)) {
			set_command(r, d, true);
			return true;
		}
	}
	return find_fixed(path, true, r);
}

/* There are many names, and most differ in their first letter. */
static bool is_name(const char *known, struct ar_str name)
{
	return name.len && known[0] == name.p[0] && ar_str_is(name, known);
}

static bool find_post(const struct ar_command_table *t, struct ar_str path, struct ar_http_route *r)
{
	struct ar_str name;

	if (!ar_str_starts(path, AR_STR("/v1/")))
		return false;
	name = ar_str_sub(path, 4, path.len);
	for (size_t i = 0; i < t->count; i++) {
		if (t->rows[i].name && is_name(t->rows[i].name, name)) {
			set_command(r, &t->rows[i], false);
			return true;
		}
	}
	return find_fixed(path, false, r);
}

/* Under this path nothing answers the method. The access is that of the path, as a GET of it would have. */
static void set_missing(const struct ar_command_table *table, struct ar_str path, struct ar_http_route *ret)
{
	struct ar_http_route get = { .access = AR_ACCESS_ANY }, post = { 0 };
	bool can_get = find_get(table, path, &get), can_post = find_post(table, path, &post);

	*ret = (struct ar_http_route){ .access = get.access, .code = AR_ERR_NOT_FOUND };
	if (!can_get && !can_post)
		return;
	ret->code = AR_ERR_METHOD_NOT_ALLOWED;
	ret->allow = can_get && can_post ? "GET, POST" : can_get ? "GET" : "POST";
}

void ar_http_route_find(const struct ar_command_table *table, struct ar_str method, struct ar_str path,
			struct ar_http_route *ret)
{
	*ret = (struct ar_http_route){ 0 };
	if (ar_str_is(method, "GET") && find_get(table, path, ret))
		return;
	if (ar_str_is(method, "POST") && find_post(table, path, ret))
		return;
	set_missing(table, path, ret);
}

void ar_http_route_explain(const struct ar_http_route *r, struct ar_str path, struct ar_error *err)
{
	struct ar_str shown = ar_str_sub(path, 0, 100);

	if (r->allow)
		ar_refuse(err, r->code, "'%.*s' supports %s", AR_STR_ARG(shown), r->allow);
	else
		ar_refuse(err, r->code, "there is no path '%.*s'", AR_STR_ARG(shown));
}
