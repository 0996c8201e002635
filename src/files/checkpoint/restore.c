/* See restore.h. What the save before does not hold (too large, no file, changed meanwhile) is never
 * replaced. */
#include "checkpoint/restore.h"

#include "checkpoint/objects.h"
#include "checkpoint/place.h"
#include "checkpoint/scan.h"
#include "mem.h"
#include "shown.h"

#include <errno.h>
#include <string.h>

#define PROBLEMS_SHOWN 20

struct restoring {
	struct ar_store *store;
	struct ar_restored *ret;
	const struct ar_tree_entries *now;
	const struct ar_differences *d;
	struct ar_place place;
	struct ar_objects objects;
	bool *is_left; /* those of d that were not done */
	size_t problems;
	struct ar_buf text; /* of the first of them */
};

/* ---- what could not be done ---- */

static const char *reason_of(int code)
{
	switch (code) {
	case ESTALE:
	case EISDIR:
	case EEXIST:
	case ENOTDIR:
	case ELOOP:
		return "what is there now is in no checkpoint (changed meanwhile, too large, no file)";
	case EROFS:
	case EBUSY:
		return "it is protected, or read-only here";
	default:
		return strerror(code);
	}
}

static void add_problem(struct restoring *r, size_t i, int code)
{
	r->is_left[i] = true;
	if (r->problems++ >= PROBLEMS_SHOWN)
		return;
	ar_buf_addz(&r->text, r->text.len > 0 ? "; " : "");
	ar_shown_add_path(&r->text, r->d->at[i].path);
	ar_buf_addf(&r->text, ": %s", reason_of(code));
}

/* ---- one by one ---- */

static void put_one(struct restoring *r, size_t i)
{
	const struct ar_difference *d = &r->d->at[i];
	struct ar_str content;
	int code = ar_objects_read(&r->objects, d->object, &content);

	if (code == 0)
		code = ar_place_put(&r->place, d->path, ar_tree_entries_find(r->now, d->path), d->is,
				    content);
	if (code)
		add_problem(r, i, code);
	else
		r->ret->bytes += (int64_t)content.len;
}

static void remove_one(struct restoring *r, size_t i)
{
	const struct ar_tree_entry *was = ar_tree_entries_find(r->now, r->d->at[i].path);
	int code = was ? ar_place_remove(&r->place, was) : ESTALE;

	if (code)
		add_problem(r, i, code);
}

/* First all that is gone: a file may stand where a folder has to be, and the other way round. */
static void apply_all(struct restoring *r)
{
	for (int puts = 0; puts < 2; puts++) {
		for (size_t i = 0; i < r->d->count; i++) {
			if ((r->d->at[i].is != 0) != (puts == 1))
				continue;
			if (ar_files_is_late(r->store->work))
				add_problem(r, i, ETIME);
			else if (puts)
				put_one(r, i);
			else
				remove_one(r, i);
		}
	}
}

static bool apply(struct restoring *r)
{
	if (r->d->count == 0)
		return true;
	if (!ar_objects_open(&r->objects, r->store))
		return false;
	apply_all(r);
	ar_objects_close(&r->objects);
	ar_place_fini(&r->place);
	return true;
}

/* ---- the end ---- */

/* What is there now is saved again: only that proves that all came back. */
static bool check_tree(struct restoring *r, int root, const char *to)
{
	struct ar_saved after;
	char id[AR_STORE_ID + 1] = "";
	bool is_ok = ar_save(r->store, root, false, &after);

	ar_hash_hex(&after.tree, id);
	ar_saved_fini(&after);
	if (is_ok && strcmp(id, to) != 0)
		ar_files_fail(
			r->store->work, "incomplete", "Look at the files, then repeat it.",
			"The files were changed by somebody else meanwhile: they are not as the checkpoint "
			"has them.");
	return !ar_files_failed(r->store->work);
}

static bool sync_files(struct restoring *r)
{
	if (r->d->count == 0 || ar_place_sync(&r->place))
		return true;
	ar_files_fail(r->store->work, "io", "Repeat it.", "The restored files could not be made durable: %s.",
		      strerror(errno));
	return false;
}

static bool finish(struct restoring *r, int root, const char *to, bool checks_all)
{
	struct ar_files_work *w = r->store->work;

	r->ret->files = (int64_t)(r->d->count - r->problems);
	r->ret->changes = ar_differences_list(&w->arena, r->d, r->is_left, &r->ret->is_cut);
	if (r->problems == 0)
		return (!checks_all || check_tree(r, root, to)) && sync_files(r);
	ar_files_fail(w, "incomplete", "The other files are as the checkpoint has them.",
		      "%zu of %zu files could not be restored: %.*s%s", r->problems, r->d->count,
		      AR_STR_ARG(ar_buf_str(&r->text)), r->problems > PROBLEMS_SHOWN ? "; ..." : "");
	return false;
}

static bool restore_from(struct ar_store *s, int root, const char *to, const struct ar_saved *before,
			 struct ar_restored *ret, bool checks_all)
{
	char id[AR_STORE_ID + 1] = "";
	struct ar_differences d;
	struct restoring r = { .store = s, .ret = ret, .now = &before->now, .d = &d };
	bool is_ok;

	ret->before = before->tree;
	ret->is_begun = true;
	ar_hash_hex(&before->tree, id);
	r.place = (struct ar_place){ .root = root, .folder = -1 };
	is_ok = ar_differences_read(s, id, to, &d);
	r.is_left = ar_new0(d.count + 1);
	is_ok = is_ok && apply(&r) && finish(&r, root, to, checks_all);
	ar_free(r.is_left);
	ar_buf_fini(&r.text);
	ar_differences_fini(&d);
	return is_ok;
}

bool ar_restore(struct ar_store *s, int root, const char *to, struct ar_restored *ret)
{
	struct ar_saved before;
	bool is_ok;

	*ret = (struct ar_restored){ 0 };
	if (!ar_store_has(s, to)) {
		ar_files_fail(s->work, "not_found", "Use a checkpoint that is listed.",
			      "There is no such checkpoint.");
		return false;
	}
	is_ok = ar_save(s, root, true, &before) && restore_from(s, root, to, &before, ret, true);
	ar_saved_fini(&before);
	return is_ok;
}

bool ar_restore_changes(struct ar_store *s, int root, const char *to, const struct ar_saved *before,
			struct ar_restored *ret)
{
	*ret = (struct ar_restored){ 0 };
	return restore_from(s, root, to, before, ret, false);
}
