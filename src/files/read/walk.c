/* A walk with a stack of entries instead of open descriptors: each folder is opened by its path from the
 * start, without following links, so depth costs no descriptors and a folder that is swapped for a link
 * meanwhile is refused by the kernel. */
#include "read/walk.h"

#include "mem.h"
#include "workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Full of what nobody looks for, and huge. */
static const char *const closed_names[] = { ".git", "node_modules" };

static bool has_part(struct ar_str path, struct ar_str part)
{
	while (!ar_str_absent(path)) {
		struct ar_str head;

		path = ar_str_split(path, '/', &head);
		if (ar_str_eq(head, part))
			return true;
	}
	return false;
}

static bool is_closed(const struct ar_walk *k, struct ar_str name)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(closed_names); i++) {
		if (ar_str_is(name, closed_names[i]))
			return !has_part(k->named[0], name) && !has_part(k->named[1], name);
	}
	return false;
}

/* Backwards: the first name has to end up at the top of the stack. */
static int compare(const void *left, const void *right)
{
	const struct ar_walk_entry *a = left, *b = right;

	return ar_str_cmp(b->path, a->path);
}

static void push(struct ar_walk *k, const struct ar_walk_entry *e)
{
	if (k->count == k->room) {
		k->room = k->room ? k->room * 2 : 64;
		k->stack = ar_grow(k->stack, k->room, sizeof(*k->stack));
	}
	k->stack[k->count++] = *e;
}

static void push_entry(struct ar_walk *k, int folder, const struct ar_walk_entry *parent, const char *name)
{
	struct stat st;
	struct ar_str parts[] = { parent ? parent->path : AR_STR(""), AR_STR("/"), ar_str_from(name) };
	size_t skip = parent ? 0 : 2;

	/* Gone since it was listed: as if it had never been there. */
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	push(k, &(struct ar_walk_entry){
			.path = ar_arena_join(&k->work->arena, parts + skip, 3 - skip),
			.mode = st.st_mode,
			.size = st.st_size,
			.changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
			.depth = parent ? parent->depth + 1 : 1,
			.is_closed = S_ISDIR(st.st_mode) && is_closed(k, ar_str_from(name)),
		});
}

static bool is_wanted(const struct ar_walk *k, const char *name)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	return k->shows_hidden || name[0] != '.' || has_part(k->named[0], ar_str_from(name)) ||
	       has_part(k->named[1], ar_str_from(name));
}

static void read_folder(struct ar_walk *k, DIR *dir, const struct ar_walk_entry *parent)
{
	size_t first = k->count;
	struct dirent *d;

	while ((d = readdir(dir)) != NULL) {
		if (ar_files_is_over(k->work) || k->visited >= AR_WALK_ENTRIES_MAX) {
			k->is_cut = true;
			break;
		}
		if (!is_wanted(k, d->d_name))
			continue;
		k->visited++;
		push_entry(k, dirfd(dir), parent, d->d_name);
	}
	if (k->count > first)
		qsort(k->stack + first, k->count - first, sizeof(*k->stack), compare);
}

static void open_folder(struct ar_walk *k, const struct ar_walk_entry *parent)
{
	int fd = ar_workspace_reopen_folder(k->folder, parent ? parent->path.p : ".");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		ar_workspace_closep(&fd);
		k->unreadable++;
		return;
	}
	read_folder(k, dir, parent);
	closedir(dir);
}

bool ar_walk_next(struct ar_walk *k, struct ar_walk_entry *ret)
{
	if (!k->has_begun) {
		k->has_begun = true;
		open_folder(k, NULL);
	}
	if (k->count == 0)
		return false;
	if (ar_files_is_over(k->work)) {
		k->is_cut = true;
		return false;
	}
	*ret = k->stack[--k->count];
	if (S_ISDIR(ret->mode) && !ret->is_closed && ret->depth < k->max_depth)
		open_folder(k, ret);
	return true;
}

void ar_walk_report_unreadable(const struct ar_walk *k, struct ar_buf *out)
{
	if (k->unreadable > 0)
		ar_buf_addf(out, " (%zu folder%s could not be read)", k->unreadable,
			    k->unreadable == 1 ? "" : "s");
}

void ar_walk_fini(struct ar_walk *k)
{
	ar_free(k->stack);
	k->stack = NULL;
}
