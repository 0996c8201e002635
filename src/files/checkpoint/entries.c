/* See entries.h. */
#include "checkpoint/entries.h"

#include "mem.h"

#include <string.h>
#include <strings.h>

static int rank_of(char c)
{
	return c == '/' ? 0 : (unsigned char)c;
}

int ar_tree_entry_compare(struct ar_str a, struct ar_str b)
{
	size_t shorter = a.len < b.len ? a.len : b.len;

	for (size_t i = 0; i < shorter; i++) {
		if (a.p[i] != b.p[i])
			return rank_of(a.p[i]) - rank_of(b.p[i]);
	}
	return (a.len > b.len) - (a.len < b.len);
}

bool ar_tree_entry_is_name(struct ar_str name)
{
	if (name.len == 0 || ar_str_is(name, ".") || ar_str_is(name, "..") || memchr(name.p, '\0', name.len))
		return false;
	return name.len != 4 || strncasecmp(name.p, ".git", 4) != 0;
}

bool ar_tree_entry_is_path(struct ar_str path)
{
	struct ar_str name;

	if (path.len == 0 || path.len > AR_TREE_ENTRY_PATH_MAX)
		return false;
	while (!ar_str_absent(path)) {
		path = ar_str_split(path, '/', &name);
		if (!ar_tree_entry_is_name(name))
			return false;
	}
	return true;
}

static int64_t nanoseconds(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void ar_tree_entry_set_stat(struct ar_tree_entry *e, const struct stat *st)
{
	e->mode = S_ISLNK(st->st_mode)	    ? AR_TREE_ENTRY_LINK
		  : (st->st_mode & S_IXUSR) ? AR_TREE_ENTRY_PROGRAM
					    : AR_TREE_ENTRY_FILE;
	e->size = st->st_size;
	e->mtime = nanoseconds(st->st_mtim);
	e->ctime = nanoseconds(st->st_ctim);
	e->inode = st->st_ino;
}

bool ar_tree_entry_is_same_stat(const struct ar_tree_entry *e, const struct stat *st)
{
	struct ar_tree_entry now;

	if (!S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode))
		return false;
	ar_tree_entry_set_stat(&now, st);
	return e->mode == now.mode && e->size == now.size && e->mtime == now.mtime && e->ctime == now.ctime &&
	       e->inode == now.inode;
}

void ar_tree_entries_add(struct ar_tree_entries *l, const struct ar_tree_entry *e)
{
	if (l->count == l->room) {
		l->room = l->room ? l->room * 2 : 1024;
		l->at = ar_grow(l->at, l->room, sizeof(*l->at));
	}
	l->at[l->count++] = *e;
	l->bytes += e->size;
}

const struct ar_tree_entry *ar_tree_entries_find(const struct ar_tree_entries *l, struct ar_str path)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = ar_tree_entry_compare(l->at[middle].path, path);

		if (order == 0)
			return &l->at[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void ar_tree_entries_fini(struct ar_tree_entries *l)
{
	ar_free(l->at);
	ar_arena_fini(&l->arena);
	*l = (struct ar_tree_entries){ 0 };
}
