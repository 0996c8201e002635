/* Where control groups are, out of the two texts in which the kernel says it. See cgroups.h. Pure. */
#include "cgroups.h"

#include "path_list.h"

#include <string.h>

/* One line of mountinfo: `id parent dev root mountpoint options [fields] - type source super-options`. */
struct mount_line {
	struct ar_str root, point, type, options;
};

static bool read_mount(struct ar_str line, struct mount_line *ret)
{
	struct ar_str word = AR_STR_NONE, rest = line;

	for (int i = 0; i < 5 && !ar_str_absent(rest); i++) {
		rest = ar_str_split(rest, ' ', &word);
		if (i == 3)
			ret->root = word;
	}
	ret->point = word;
	do {
		if (ar_str_absent(rest))
			return false;
		rest = ar_str_split(rest, ' ', &word);
	} while (!ar_str_is(word, "-"));
	rest = ar_str_split(rest, ' ', &ret->type);
	ret->options = ar_str_split(rest, ' ', &word);
	/* Blanks and the like are written as \040: nobody mounts groups at such a place. */
	return !ar_str_absent(ret->options) && !memchr(ret->point.p, '\\', ret->point.len);
}

static bool lists(struct ar_str list, const char *word)
{
	struct ar_str one;

	while (!ar_str_absent(list)) {
		list = ar_str_split(list, ',', &one);
		if (ar_str_is(one, word))
			return true;
	}
	return false;
}

/* Our group in the hierarchy of a controller; of version 2 without one. Lines are
 * `number:controllers:group`. */
static struct ar_str group_of(struct ar_str groups, const char *controller)
{
	struct ar_str line, number, controllers;

	while (!ar_str_absent(groups)) {
		struct ar_str group;

		groups = ar_str_split(groups, '\n', &line);
		group = ar_str_split(ar_str_split(line, ':', &number), ':', &controllers);
		if (ar_str_absent(group))
			continue;
		if (controller ? lists(controllers, controller) : ar_str_is(number, "0"))
			return group;
	}
	return AR_STR_NONE;
}

/* A mount may begin at a group below the top: then that part is not in the path. */
static struct ar_str folder_of(const struct mount_line *m, struct ar_str group, struct ar_arena *a)
{
	if (m->root.len > 1) {
		if (!ar_path_is_in(group, m->root))
			return AR_STR_NONE;
		group = ar_str_sub(group, m->root.len, group.len);
	}
	if (ar_str_is(group, "/"))
		group = AR_STR("");
	if (ar_str_starts(group, AR_STR("/..")))
		return AR_STR_NONE; /* above what we can see */
	return ar_arena_fmt(a, "%.*s%.*s/agentruntime", AR_STR_ARG(m->point), AR_STR_ARG(group));
}

static void add_hierarchy(struct ar_cgroups *ret, const struct mount_line *m, struct ar_str group,
			  struct ar_cgroup_hierarchy what, struct ar_arena *a)
{
	what.folder = ar_str_absent(group) ? AR_STR_NONE : folder_of(m, group, a);
	what.mount = ar_arena_str(a, m->point);
	if (ar_str_absent(what.folder) || ret->count == AR_CGROUPS_MAX)
		return;
	for (size_t i = 0; i < ret->count; i++) {
		if (ar_str_eq(ret->at[i].folder, what.folder))
			return;
	}
	ret->at[ret->count++] = what;
}

void ar_cgroups_parse(struct ar_str mounts, struct ar_str groups, struct ar_arena *a, struct ar_cgroups *ret)
{
	struct ar_str line;

	while (!ar_str_absent(mounts)) {
		struct mount_line m = { 0 };
		bool counts, weighs, paces;

		mounts = ar_str_split(mounts, '\n', &line);
		if (!read_mount(line, &m))
			continue;
		counts = lists(m.options, "pids");
		weighs = lists(m.options, "memory");
		paces = lists(m.options, "cpu");
		if (ar_str_is(m.type, "cgroup2"))
			add_hierarchy(ret, &m, group_of(groups, NULL),
				      (struct ar_cgroup_hierarchy){ .is_v2 = true }, a);
		else if (ar_str_is(m.type, "cgroup") && (counts || weighs || paces))
			add_hierarchy(ret, &m,
				      group_of(groups, counts	? "pids"
						       : weighs ? "memory"
								: "cpu"),
				      (struct ar_cgroup_hierarchy){
					      .counts = counts, .weighs = weighs, .paces = paces },
				      a);
	}
}
