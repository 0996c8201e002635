/* See path_list.h. */
#include "path_list.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool ar_path_is_in(struct ar_str path, struct ar_str folder)
{
	while (folder.len > 0 && folder.p[folder.len - 1] == '/')
		folder.len--;
	return ar_str_starts(path, folder) && (path.len == folder.len || path.p[folder.len] == '/');
}

struct ar_str ar_path_real(struct ar_str path, struct ar_arena *a)
{
	char real[PATH_MAX];

	if (path.len >= PATH_MAX || !realpath(ar_arena_str(a, path).p, real))
		return AR_STR_NONE;
	return ar_arena_str(a, ar_str_from(real));
}

struct ar_str ar_path_future(struct ar_str path, struct ar_arena *a)
{
	struct ar_str real = ar_path_real(path, a), above = path;

	while (ar_str_absent(real) && above.len > 1) {
		while (above.len > 1 && above.p[above.len - 1] != '/')
			above.len--;
		if (above.p[above.len - 1] != '/')
			return AR_STR_NONE;
		above.len -= above.len > 1;
		real = ar_path_real(above, a);
	}
	if (ar_str_absent(real) || above.len == path.len)
		return real;
	return ar_arena_fmt(a, "%s%.*s", real.len > 1 ? real.p : "", (int)(path.len - above.len),
			    path.p + above.len);
}

bool ar_path_has(const struct ar_plan_paths *list, struct ar_str path)
{
	for (size_t i = 0; i < list->count; i++) {
		if (ar_str_is(path, list->at[i]))
			return true;
	}
	return false;
}

bool ar_path_add(struct ar_plan_paths *list, struct ar_str path, struct ar_arena *a)
{
	if (ar_path_has(list, path))
		return true;
	if (list->count == AR_PLAN_PATHS_MAX)
		return false;
	list->at[list->count++] = ar_arena_str(a, path).p;
	return true;
}

bool ar_path_covers(const struct ar_plan_paths *list, struct ar_str path)
{
	for (size_t i = 0; i < list->count; i++) {
		if (ar_path_is_in(path, ar_str_from(list->at[i])))
			return true;
	}
	return false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool ar_path_next(struct ar_str *rest, const char *separators, struct ar_str *ret)
{
	while (rest->len > 0) {
		struct ar_str one = { rest->p, 0 };

		while (one.len < rest->len && !strchr(separators, one.p[one.len]))
			one.len++;
		*rest = ar_str_sub(*rest, one.len + 1, rest->len);
		while (one.len > 0 && is_blank(one.p[0]))
			one = ar_str_sub(one, 1, one.len);
		while (one.len > 0 && is_blank(one.p[one.len - 1]))
			one.len--;
		if (one.len == 0)
			continue;
		*ret = one;
		return true;
	}
	return false;
}

void ar_path_json(struct ar_jw *w, const struct ar_plan_paths *list)
{
	for (size_t i = 0; i < list->count; i++)
		ar_jw_str(w, ar_str_from(list->at[i]));
}
