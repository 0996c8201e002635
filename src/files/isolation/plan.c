/* The plan of a merge (merge.h): each file that the session changed is taken, merged, a conflict, or left
 * out. The result is a tree; nothing is written but in the store.
 *
 * A file where the session has a folder, or the other way round, shows in the tree: it has lost a path that
 * the session did not touch. That is a conflict, too; where the workspace's side is kept, the plan is made
 * again without what stands in its way. */
#include "isolation/merge.h"

#include "checkpoint/scan.h"
#include "isolation/merge_text.h"
#include "isolation/tree.h"
#include "mem.h"
#include "shown.h"

#include <string.h>

#define LIST_MAX 1024 /* paths that are named; the core refuses more, and a sandbox protects fewer */

struct planning {
	struct ar_store *store;
	const struct ar_merge *how;
	const struct ar_differences *mine, *theirs;
	struct ar_merge_plan *ret;
	struct ar_texts paths, protected_paths;
	bool *is_taken; /* by index of mine: the tree has the session's side of it */
	const struct ar_difference **lost; /* paths that must stay */
	size_t lost_count;
	struct ar_import import;
	struct ar_objects objects;
	struct ar_buf text;
};

static bool is_below(struct ar_str path, struct ar_str folder)
{
	return ar_str_starts(path, folder) && (path.len == folder.len || path.p[folder.len] == '/');
}

/* Paths in the form in which they are shown. */
static struct ar_texts read_list(struct ar_store *s, struct ar_json list)
{
	struct ar_str *at = ar_arena_alloc(&s->work->arena, LIST_MAX * sizeof(*at)), one;
	size_t count = 0;

	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it) && count < LIST_MAX;) {
		if (ar_json_str(it.value, &one) && one.len > 0)
			at[count++] = ar_shown_read_path(&s->work->arena, one);
	}
	return (struct ar_texts){ at, count };
}

static bool is_in(struct ar_texts list, struct ar_str path)
{
	for (size_t i = 0; i < list.count; i++) {
		if (is_below(path, list.at[i]))
			return true;
	}
	return false;
}

static bool is_wanted(const struct planning *v, struct ar_str path)
{
	return ar_json_type(v->how->paths) != AR_JSON_ARRAY || is_in(v->paths, path);
}

static bool stands_in_the_way(const struct planning *v, struct ar_str path)
{
	for (size_t i = 0; i < v->lost_count; i++) {
		struct ar_str other = v->lost[i]->path;

		if (is_below(path, other) || is_below(other, path))
			return true;
	}
	return false;
}

/* ---- one file ---- */

static bool is_file(uint32_t mode)
{
	return mode == AR_TREE_ENTRY_FILE || mode == AR_TREE_ENTRY_PROGRAM;
}

static bool is_same_end(const struct ar_difference *a, const struct ar_difference *b)
{
	return a->is == b->is && (a->is == 0 || ar_str_eq(a->object, b->object));
}

static void add_conflict(struct ar_merge_plan *p, const struct ar_difference *d)
{
	if (p->conflict_count == p->conflict_room) {
		p->conflict_room = p->conflict_room ? p->conflict_room * 2 : 16;
		p->conflicts = ar_grow(p->conflicts, p->conflict_room, sizeof(*p->conflicts));
	}
	p->conflicts[p->conflict_count++] = d;
}

static void leave_change(struct planning *v, size_t i)
{
	v->ret->is_settled[i] = false;
	v->ret->unsettled++;
}

/* False: git has ended. */
static bool take_change(struct planning *v, size_t i)
{
	v->is_taken[i] = true;
	return ar_tree_take(&v->import, &v->mine->at[i], AR_TREE_NEW);
}

/* The same. */
static bool resolve_conflict(struct planning *v, size_t i)
{
	const struct ar_difference *d = &v->mine->at[i];

	switch (v->how->choice) {
	case AR_MERGE_ASK:
		add_conflict(v->ret, d);
		return true;
	case AR_MERGE_SESSION:
		return take_change(v, i);
	case AR_MERGE_WORKSPACE:
		return true;
	case AR_MERGE_LEAVE_OUT:
		leave_change(v, i);
		return true;
	}
	return true;
}

/* The x bit comes from the side that changed it. */
static bool take_merged(struct planning *v, size_t i, const struct ar_difference *theirs)
{
	const struct ar_difference *mine = &v->mine->at[i];
	struct ar_tree_entry e = { .path = mine->path,
				   .mode = mine->is != mine->was ? mine->is : theirs->is };

	v->is_taken[i] = true;
	return ar_import_put(&v->import, &e, ar_buf_str(&v->text));
}

static bool merge_both(struct planning *v, size_t i, const struct ar_difference *theirs)
{
	const struct ar_difference *mine = &v->mine->at[i];

	if (is_same_end(mine, theirs))
		return true;
	if (!is_file(mine->was) || !is_file(mine->is) || !is_file(theirs->is))
		return resolve_conflict(v, i);
	switch (ar_merge_text(v->store, &v->objects,
			      &(struct ar_merge_texts){ mine->old_object, mine->object, theirs->object },
			      &v->text)) {
	case AR_MERGE_CLEAN:
		return take_merged(v, i, theirs);
	case AR_MERGE_CONFLICT:
		return resolve_conflict(v, i);
	case AR_MERGE_FAILED:
		break;
	}
	return false;
}

static bool plan_one(struct planning *v, size_t i)
{
	const struct ar_difference *mine = &v->mine->at[i];
	const struct ar_difference *theirs = ar_tree_difference(v->theirs, mine->path);

	v->ret->is_settled[i] = true;
	if (is_in(v->protected_paths, mine->path)) {
		v->ret->left_out++;
		leave_change(v, i);
		return true;
	}
	if (!is_wanted(v, mine->path)) {
		leave_change(v, i);
		return true;
	}
	if (stands_in_the_way(v, mine->path))
		return resolve_conflict(v, i);
	return theirs ? merge_both(v, i, theirs) : take_change(v, i);
}

/* ---- all of them ---- */

static bool is_over(const struct planning *v)
{
	if (ar_files_is_late(v->store->work))
		ar_files_fail(v->store->work, "timeout", "Apply fewer paths at once.",
			      "The changes could not be compared in time.");
	return ar_files_failed(v->store->work);
}

/* Deletions first: a file may stand where a folder has to be. */
static bool plan_all(struct planning *v)
{
	for (int sets = 0; sets < 2; sets++) {
		for (size_t i = 0; i < v->mine->count; i++) {
			if ((v->mine->at[i].is != 0) == (sets == 1) && (is_over(v) || !plan_one(v, i)))
				return false;
		}
	}
	return true;
}

static bool make_tree(struct planning *v, const struct ar_hash *now)
{
	struct ar_merge_plan *p = v->ret;

	p->conflict_count = 0;
	p->left_out = p->unsettled = 0;
	if (!ar_objects_open(&v->objects, v->store))
		return false;
	if (!ar_import_open(&v->import, v->store, now)) {
		ar_objects_close(&v->objects);
		return false;
	}
	(void)plan_all(v);
	ar_objects_close(&v->objects);
	if (!ar_files_failed(v->store->work))
		return ar_import_close(&v->import, false, &p->tree);
	ar_import_drop(&v->import);
	return false;
}

static bool is_lost(const struct planning *v, const struct ar_difference *d)
{
	const struct ar_difference *mine = ar_tree_difference(v->mine, d->path);

	return !mine || !v->is_taken[mine - v->mine->at];
}

/* What the tree has otherwise than the workspace although nothing of the session was taken for it. */
static bool find_lost(struct planning *v, const struct ar_hash *now, struct ar_differences *d)
{
	char from[AR_STORE_ID + 1] = "", to[AR_STORE_ID + 1] = "";

	ar_hash_hex(now, from);
	ar_hash_hex(&v->ret->tree, to);
	if (!ar_differences_read(v->store, from, to, d))
		return false;
	v->lost = ar_new0((d->count + 1) * sizeof(*v->lost));
	for (size_t i = 0; i < d->count; i++) {
		if (is_lost(v, &d->at[i]))
			v->lost[v->lost_count++] = &d->at[i];
	}
	return true;
}

bool ar_merge_plan_make(struct ar_store *s, const struct ar_merge *m, const struct ar_saved *now,
			const struct ar_differences *mine, const struct ar_differences *theirs,
			struct ar_merge_plan *ret)
{
	struct planning v = { .store = s, .how = m, .mine = mine, .theirs = theirs, .ret = ret };
	struct ar_differences d = { 0 };
	bool is_ok;

	*ret = (struct ar_merge_plan){ .is_settled = ar_new0(mine->count + 1) };
	v.is_taken = ar_new0(mine->count + 1);
	v.paths = read_list(s, m->paths);
	v.protected_paths = read_list(s, m->protected_paths);
	is_ok = make_tree(&v, &now->tree) && find_lost(&v, &now->tree, &d);
	if (is_ok && m->choice != AR_MERGE_SESSION && v.lost_count > 0)
		is_ok = make_tree(&v, &now->tree);
	ar_free(v.lost);
	ar_free(v.is_taken);
	ar_differences_fini(&d);
	ar_buf_fini(&v.text);
	return is_ok;
}

void ar_merge_plan_fini(struct ar_merge_plan *p)
{
	ar_free(p->is_settled);
	ar_free(p->conflicts);
	*p = (struct ar_merge_plan){ 0 };
}
