/* See changed.h. */
#include "checkpoint/changed.h"

#include "checkpoint/objects.h"
#include "mem.h"
#include "write/versions.h"

#include <string.h>

/* Paths that git is asked about at once: fewer bytes than a pipe holds, so that neither side waits for the
 * other. */
#define ASK_BYTES 49152
#define ASKS_MAX 16 /* what is behind them counts, ignored or not */
#define HERE "./" /* before each of them: one that begins with a colon would be no path to git */

static bool is_file(uint32_t mode)
{
	return mode == AR_TREE_ENTRY_FILE || mode == AR_TREE_ENTRY_PROGRAM;
}

/* Not one whose permissions alone changed. */
static bool is_wanted(const struct ar_difference *d)
{
	if (is_file(d->was) && is_file(d->is))
		return !ar_str_eq(d->old_object, d->object);
	return is_file(d->was) || is_file(d->is);
}

/* ---- what the repository ignores ---- */

/* The paths from `first` on that go into one question; returns the one behind them. */
static size_t ask_for_some(const struct ar_differences *d, size_t first, struct ar_buf *ask)
{
	size_t i;

	for (i = first; i < d->count && ask->len < ASK_BYTES; i++) {
		if (is_wanted(&d->at[i])) {
			ar_buf_addz(ask, HERE);
			ar_buf_adds(ask, d->at[i].path);
			ar_buf_addc(ask, '\0');
		}
	}
	return i;
}

/* git names those that it ignores, in the order of the question. */
static void mark_ignored(const struct ar_differences *d, size_t first, size_t end, struct ar_str answer,
			 bool *ret)
{
	struct ar_str name;

	for (size_t i = first; i < end && answer.len > 0; i++) {
		name = (struct ar_str){ answer.p, strnlen(answer.p, answer.len) };
		if (!is_wanted(&d->at[i]) ||
		    !ar_str_eq(ar_str_sub(name, strlen(HERE), name.len), d->at[i].path))
			continue;
		ret[i] = true;
		answer = ar_str_sub(answer, name.len + 1, answer.len);
	}
}

/* Without a repository, or where git does not answer, nothing is ignored. */
static void find_ignored(struct ar_store *s, const struct ar_differences *d, size_t first, size_t *ret_end,
			 bool *ret)
{
	/* This command of git refuses to run where paths are literal everywhere; it takes its own so. */
	static const char *const args[] = {
		"--no-literal-pathspecs", "check-ignore", "-z", "--stdin", "--no-index", NULL
	};
	AR_AUTO(ar_buf_fini) struct ar_buf ask = { 0 };
	AR_AUTO(ar_buf_fini) struct ar_buf answer = { .cap = ASK_BYTES + AR_FILES_PATH_MAX + 1 };
	struct ar_git_child c;

	*ret_end = ask_for_some(d, first, &ask);
	if (ask.len == 0 || !ar_git_child_open(s->work, s->work->workspace.p, args, &c))
		return;
	(void)ar_git_child_write(&c, ar_buf_str(&ask));
	ar_git_child_drain(&c, &answer);
	(void)ar_git_child_close(&c);
	ar_git_child_fini(&c);
	mark_ignored(d, first, *ret_end, ar_buf_str(&answer), ret);
}

/* ---- one file ---- */

struct listing {
	struct ar_objects objects;
	struct ar_buf before; /* copy: reading the other side overwrites it */
	struct ar_jw json;
	struct ar_arena *arena;
};

/* One that is too large for a diff is not copied: its length is what tells so. */
static bool read_before(struct listing *l, const struct ar_difference *d, struct ar_change *f)
{
	f->existed = is_file(d->was);
	f->before = AR_STR("");
	if (!f->existed)
		return true;
	if (ar_objects_read(&l->objects, d->old_object, &f->before) != 0)
		return false;
	if (f->before.len > AR_VERSIONS_FILE_MAX)
		return true;
	l->before.len = 0;
	ar_buf_adds(&l->before, f->before);
	f->before = ar_buf_str(&l->before);
	return true;
}

static bool add_file(struct listing *l, const struct ar_difference *d)
{
	struct ar_change f = { .path = d->path, .exists = is_file(d->is), .after = AR_STR("") };

	if (!read_before(l, d, &f) || (f.exists && ar_objects_read(&l->objects, d->object, &f.after) != 0))
		return false;
	ar_versions_add(&l->json, l->arena, &f);
	return true;
}

/* ---- all of them ---- */

static size_t list_files(struct ar_store *s, const struct ar_differences *d, bool *is_ignored,
			 struct listing *l, int64_t *ret_count)
{
	size_t listed = 0, asked = 0, asks = 0;

	for (size_t i = 0; i < d->count; i++) {
		if (i == asked && asks++ < ASKS_MAX)
			find_ignored(s, d, i, &asked, is_ignored);
		if (!is_wanted(&d->at[i]) || is_ignored[i])
			continue;
		++*ret_count;
		if (listed < AR_CHANGED_MAX && !ar_files_is_over(s->work))
			listed += add_file(l, &d->at[i]);
	}
	return listed;
}

static bool list_differences(struct ar_store *s, const struct ar_differences *d, struct ar_str *ret,
			     int64_t *ret_count)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	struct listing l = { .json = ar_jw(&out), .arena = &s->work->arena };
	bool *is_ignored;

	if (d->count == 0)
		return true;
	if (!ar_objects_open(&l.objects, s))
		return false;
	is_ignored = ar_new0(d->count);
	ar_jw_open_array(&l.json);
	if (list_files(s, d, is_ignored, &l, ret_count) > 0) {
		ar_jw_close_array(&l.json);
		*ret = ar_arena_str(&s->work->arena, ar_buf_str(&out));
	}
	ar_free(is_ignored);
	ar_buf_fini(&l.before);
	ar_objects_close(&l.objects);
	return true;
}

bool ar_changed_list(struct ar_store *s, const char *from, const char *to, struct ar_str *ret,
		     int64_t *ret_count)
{
	struct ar_differences d;
	bool is_ok;

	*ret = AR_STR_NONE;
	*ret_count = 0;
	is_ok = ar_differences_read(s, from, to, &d) && list_differences(s, &d, ret, ret_count);
	ar_differences_fini(&d);
	return is_ok;
}
