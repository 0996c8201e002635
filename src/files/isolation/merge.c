/* See merge.h. Both folders are saved, the plan is a tree, and the workspace is made like it where it
 * differs from what was saved. What others change meanwhile is never replaced. */
#include "isolation/merge.h"

#include "io/descriptor.h"
#include "isolation/tree.h"
#include "json.h"
#include "shown.h"
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOTE_MAX 256

struct merging {
	struct ar_store *store;
	const struct ar_merge *how;
	struct ar_merged *ret;
	struct ar_saved session, now; /* of the session and of the workspace */
	struct ar_differences mine, theirs;
	struct ar_merge_plan plan;
};

static bool save_both(struct merging *v)
{
	bool is_ok;

	v->store->label = v->store->session;
	is_ok = ar_save(v->store, v->how->session, true, &v->session);
	v->store->label = NULL;
	return is_ok && ar_save(v->store, v->how->workspace, true, &v->now);
}

static bool compare(struct merging *v, const struct ar_hash *to, struct ar_differences *ret)
{
	char id[AR_STORE_ID + 1] = "";

	ar_hash_hex(to, id);
	return ar_differences_read(v->store, v->how->base, id, ret);
}

static void list_conflicts(struct merging *v)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	struct ar_jw j = ar_jw(&out);
	struct ar_arena *a = &v->store->work->arena;

	ar_jw_open_array(&j);
	for (size_t i = 0;
	     i < v->plan.conflict_count && i < AR_DIFFERENCES_SHOWN && out.len < AR_DIFFERENCES_SHOWN_BYTES;
	     i++)
		ar_jw_str(&j, ar_shown_path(a, v->plan.conflicts[i]->path));
	ar_jw_close_array(&j);
	v->ret->conflicts = ar_arena_str(a, ar_buf_str(&out));
	v->ret->conflict_count = (int64_t)v->plan.conflict_count;
}

/* ---- the state before, over several tries ---- */

static const char *note_name(const struct merging *v)
{
	return ar_arena_fmt(&v->store->work->arena, "apply.%s", v->store->session).p;
}

/* A try that was killed may have written: what was before is what the first one saw. */
static bool read_note(struct merging *v, struct ar_hash *ret)
{
	AR_AUTO(ar_workspace_closep)
	int fd = openat(v->store->fd, note_name(v), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[NOTE_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	struct ar_str id, tree;

	if (n <= 0 || !v->how->apply)
		return false;
	tree = ar_str_split((struct ar_str){ text, (size_t)n }, ' ', &id);
	return ar_str_is(id, v->how->apply) && ar_import_object(tree, ret);
}

static bool write_note(struct merging *v)
{
	char id[AR_STORE_ID + 1] = "";
	struct ar_arena *a = &v->store->work->arena;
	const char *name = note_name(v), *temp = ar_arena_fmt(a, "%s.new", name).p;
	AR_AUTO(ar_workspace_closep)
	int fd = openat(v->store->fd, temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (!v->how->apply || read_note(v, &v->ret->done.before))
		return true;
	ar_hash_hex(&v->now.tree, id);
	if (fd >= 0 && ar_fd_write_all(fd, ar_arena_fmt(a, "%s %s", v->how->apply, id)) && fsync(fd) == 0 &&
	    renameat(v->store->fd, temp, v->store->fd, name) == 0 && fsync(v->store->fd) == 0)
		return true;
	ar_files_fail(v->store->work, errno == ENOSPC || errno == EDQUOT ? "no_space" : "store",
		      "Tell the operator.", "The merge cannot be noted in the store: %s.", strerror(errno));
	return false;
}

/* ---- writing ---- */

static void forget_failure(struct ar_files_work *w)
{
	w->outcome = (enum ar_tool_outcome)0;
	w->category = w->advice = NULL;
	w->message = AR_STR_NONE;
}

/* Of what this merge planned, all that is as it planned becomes what it was; the rest is others'. */
static bool undo(struct merging *v, const char *from, const char *to)
{
	char id[AR_STORE_ID + 1] = "";
	struct ar_saved half = { 0 };
	struct ar_differences planned = { 0 };
	struct ar_restored back;
	struct ar_hash tree;
	bool is_ok = ar_save(v->store, v->how->workspace, false, &half) &&
		     ar_differences_read(v->store, from, to, &planned) &&
		     ar_tree_with(v->store, &half.tree,
				  &(struct ar_tree_change){ &planned, AR_TREE_OLD, NULL }, false, &tree);

	if (is_ok) {
		ar_hash_hex(&tree, id);
		is_ok = ar_restore_changes(v->store, v->how->workspace, id, &half, &back);
	}
	ar_differences_fini(&planned);
	ar_saved_fini(&half);
	return is_ok;
}

static void take_back(struct merging *v, const char *from, const char *to)
{
	struct ar_files_work *w = v->store->work;
	struct ar_str why = w->message;
	bool is_undone;

	forget_failure(w);
	is_undone = undo(v, from, to);
	forget_failure(w);
	ar_files_fail(w, "incomplete",
		      is_undone ? "Nothing of the workspace was changed; correct it and try again."
				: "Some files of the workspace may be changed; look at them, then try again.",
		      "%.*s", AR_STR_ARG(why));
}

static bool write_workspace(struct merging *v)
{
	char from[AR_STORE_ID + 1] = "", to[AR_STORE_ID + 1] = "";
	struct ar_hash before = v->now.tree;
	bool is_ok;

	v->ret->done.before = before;
	if (!write_note(v))
		return false;
	before = v->ret->done.before;
	ar_hash_hex(&v->now.tree, from);
	ar_hash_hex(&v->plan.tree, to);
	is_ok = ar_restore_changes(v->store, v->how->workspace, to, &v->now, &v->ret->done);
	if (!is_ok)
		take_back(v, from, to);
	v->ret->done.before = before;
	return is_ok;
}

/* What was settled is what the session and the workspace agree on from now on. */
static bool move_base(struct merging *v)
{
	struct ar_hash base;

	v->ret->base = v->session.tree;
	if (v->plan.unsettled == 0)
		return true;
	if (!ar_import_object(ar_str_from(v->how->base), &base))
		return false;
	v->store->label = v->store->session;
	bool is_ok = ar_tree_with(v->store, &base,
				  &(struct ar_tree_change){ &v->mine, AR_TREE_NEW, v->plan.is_settled }, true,
				  &v->ret->base);

	v->store->label = NULL;
	return is_ok;
}

static bool merge(struct merging *v)
{
	if (!ar_store_has(v->store, v->how->base)) {
		ar_files_fail(v->store->work, "not_found", "Discard the changes, or copy them by hand.",
			      "The state that the session began with is not in the store any more.");
		return false;
	}
	if (!save_both(v) || !compare(v, &v->session.tree, &v->mine) ||
	    !compare(v, &v->now.tree, &v->theirs) ||
	    !ar_merge_plan_make(v->store, v->how, &v->now, &v->mine, &v->theirs, &v->plan))
		return false;
	v->ret->left_out = v->plan.left_out;
	if (v->plan.conflict_count > 0) {
		list_conflicts(v);
		return true;
	}
	return move_base(v) && write_workspace(v);
}

bool ar_merge_run(struct ar_store *s, const struct ar_merge *m, struct ar_merged *ret)
{
	struct merging v = { .store = s, .how = m, .ret = ret };
	bool is_ok;

	*ret = (struct ar_merged){ 0 };
	is_ok = merge(&v);
	ar_merge_plan_fini(&v.plan);
	ar_differences_fini(&v.mine);
	ar_differences_fini(&v.theirs);
	ar_saved_fini(&v.session);
	ar_saved_fini(&v.now);
	return is_ok;
}
