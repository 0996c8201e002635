/* See save.h: a scan beside the index of the last save. What the times show as unchanged is not read; what
 * is read and differs goes into one import. */
#include "checkpoint/save.h"

#include "checkpoint/content.h"
#include "checkpoint/import.h"
#include "checkpoint/index.h"

#include <string.h>

struct saving {
	struct ar_store *store;
	struct ar_saved *ret;
	struct ar_tree_entries old;
	struct ar_hash old_tree;
	bool has_old;
	size_t next; /* of old */
	struct ar_import import;
	bool is_importing;
	bool is_index_stale;
	int64_t racy_since, left_out;
	struct ar_buf content;
};

static bool start_import(struct saving *v)
{
	if (v->is_importing)
		return true;
	v->is_importing = ar_import_open(&v->import, v->store, v->has_old ? &v->old_tree : NULL);
	return v->is_importing;
}

/* What the index has before this path is gone. Absent: all the rest is. */
static bool delete_until(struct saving *v, struct ar_str path)
{
	for (; v->next < v->old.count; v->next++) {
		struct ar_str old = v->old.at[v->next].path;

		if (!ar_str_absent(path) && ar_tree_entry_compare(old, path) >= 0)
			break;
		v->is_index_stale = true;
		if (!start_import(v) || !ar_import_delete(&v->import, old))
			return false;
	}
	return true;
}

static const struct ar_tree_entry *old_entry(struct saving *v, struct ar_str path)
{
	if (v->next == v->old.count || !ar_str_eq(v->old.at[v->next].path, path))
		return NULL;
	return &v->old.at[v->next++];
}

static bool add_entry(struct saving *v, const struct ar_tree_entry *e)
{
	struct ar_tree_entries *now = &v->ret->now;

	ar_tree_entries_add(now, e);
	if (now->count <= v->store->files_max && now->bytes <= v->store->bytes_max)
		return true;
	ar_files_fail(v->store->work, "too_large",
		      "Delete files that are not needed, or use a smaller folder.",
		      "The workspace has more than %zu files or %lld MiB: no checkpoint of it is kept.",
		      v->store->files_max, (long long)(v->store->bytes_max >> 20));
	return false;
}

/* The content behind the head that git hashes with it. */
static struct ar_str content_of(const struct saving *v)
{
	size_t head = strlen(v->content.p) + 1;

	return ar_str_sub(ar_buf_str(&v->content), head, v->content.len);
}

static bool import_entry(struct saving *v, const struct ar_tree_entry *e, const struct ar_tree_entry *old)
{
	bool is_same =
		old && old->mode == e->mode && memcmp(&old->object, &e->object, sizeof(e->object)) == 0;

	return is_same || (start_import(v) && ar_import_put(&v->import, e, content_of(v)));
}

/* Was in the last one and cannot be read now: it leaves the tree. */
static bool leave_out(struct saving *v, const struct ar_tree_entry *old)
{
	v->left_out++;
	v->is_index_stale = v->is_index_stale || old;
	return !old || (start_import(v) && ar_import_delete(&v->import, old->path));
}

static bool on_found(void *arg, const struct ar_scan_found *f)
{
	struct saving *v = arg;
	const struct ar_tree_entry *old;
	struct ar_tree_entry e = { 0 };

	if (!delete_until(v, f->path))
		return false;
	old = old_entry(v, f->path);
	if (old && !old->is_racy && ar_tree_entry_is_same_stat(old, &f->st))
		return add_entry(v, old);
	if (f->st.st_size > AR_TREE_ENTRY_BYTES_MAX || !ar_content_read(f, &v->content, &e))
		return leave_out(v, old);
	v->is_index_stale = true;
	e.path = old ? old->path : ar_arena_str(&v->ret->now.arena, f->path);
	e.is_racy = ar_content_is_racy(&e, v->racy_since);
	return add_entry(v, &e) && import_entry(v, &e, old);
}

static void read_index(struct saving *v)
{
	v->has_old = ar_store_read_index(v->store, &v->ret->index) &&
		     ar_index_parse(ar_buf_str(&v->ret->index), &v->old, &v->old_tree);
}

/* Without a change the last tree is the tree; it is kept again if it was forgotten. */
static bool keep_tree(struct saving *v, bool keeps)
{
	char id[AR_STORE_ID + 1] = "";
	const char *args[] = { "update-ref", NULL, id, NULL };

	v->ret->tree = v->old_tree;
	ar_hash_hex(&v->old_tree, id);
	if (!keeps || ar_store_has(v->store, id))
		return true;
	args[1] = ar_arena_fmt(&v->store->work->arena, "refs/checkpoints/%s/%s", v->store->session, id).p;
	return ar_store_git(v->store, args, AR_STR_NONE, NULL);
}

static bool check_room(struct saving *v)
{
	if (ar_store_use(v->store).bytes > AR_STORE_BYTES_MAX)
		ar_store_pack(v->store);
	if (ar_store_use(v->store).bytes <= AR_STORE_BYTES_MAX)
		return true;
	ar_files_fail(v->store->work, "too_large", "Forget checkpoints that are not needed.",
		      "The store of checkpoints has more than %d GiB.", (int)(AR_STORE_BYTES_MAX >> 30));
	return false;
}

static bool complete(struct saving *v, bool keeps)
{
	AR_AUTO(ar_buf_fini) struct ar_buf bytes = { 0 };

	if (!v->is_importing && v->has_old && !keep_tree(v, keeps))
		return false;
	if (v->is_importing || !v->has_old) {
		if (!check_room(v) || !start_import(v))
			return false;
		v->is_importing = false;
		v->is_index_stale = true;
		if (!ar_import_close(&v->import, keeps, &v->ret->tree))
			return false;
	}
	if (!v->is_index_stale)
		return true;
	ar_index_print(&v->ret->now, &v->ret->tree, &bytes);
	(void)ar_store_write_index(v->store, ar_buf_str(&bytes)); /* the next save reads more without it */
	return true;
}

static bool save_once(struct ar_store *s, int root, bool keeps, bool uses_index, struct ar_saved *ret)
{
	struct saving v = { .store = s, .ret = ret, .racy_since = ar_content_racy_since() };
	struct ar_scan scan = { .work = s->work, .found = on_found, .arg = &v };
	bool is_ok;

	if (uses_index)
		read_index(&v);
	is_ok = ar_scan_run(&scan, root) && delete_until(&v, AR_STR_NONE);
	if (is_ok || !ar_files_failed(s->work))
		is_ok = complete(&v, keeps); /* an import that ended early says why */
	if (v.is_importing)
		ar_import_drop(&v.import);
	ret->left_out = v.left_out + scan.left_out;
	ar_tree_entries_fini(&v.old);
	ar_buf_fini(&v.content);
	return is_ok && !ar_files_failed(s->work);
}

/* Objects that the index names may be gone (a disk that lost writes): everything is saved anew then. */
bool ar_save(struct ar_store *s, int root, bool keeps, struct ar_saved *ret)
{
	*ret = (struct ar_saved){ 0 };
	if (save_once(s, root, keeps, true, ret))
		return true;
	if (strcmp(s->work->category, "store") != 0)
		return false;
	ar_files_forgive(s->work);
	ar_saved_fini(ret);
	return save_once(s, root, keeps, false, ret);
}

void ar_saved_fini(struct ar_saved *r)
{
	ar_tree_entries_fini(&r->now);
	ar_buf_fini(&r->index);
	*r = (struct ar_saved){ 0 };
}
