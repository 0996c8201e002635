/* See fill.h. The state of the origin is saved first; a file that is still as it was saved is cloned or
 * copied, one that changed meanwhile comes out of the store. In the end the target is saved, too, and only
 * the same tree proves that all of it is there. */
#include "isolation/fill.h"

#include "beneath.h"
#include "checkpoint/objects.h"
#include "checkpoint/place.h"
#include "checkpoint/scan.h"
#include "isolation/clear.h"
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct filling {
	struct ar_store *store;
	const struct ar_fill *how;
	struct ar_filled *ret;
	struct ar_place place;
	struct ar_objects objects;
	bool has_objects;
	int64_t large_bytes; /* of files that no checkpoint has */
};

static bool fail(struct filling *v, struct ar_str path, int code)
{
	ar_files_fail(v->store->work, code == ENOSPC || code == EDQUOT ? "no_space" : "io",
		      "Try again; tell the operator if it happens again.",
		      "The file '%.*s' cannot be brought into the folder of the session: %s.",
		      AR_STR_ARG(ar_str_utf8_prefix(path, 200)), strerror(code));
	return false;
}

/* ---- one file ---- */

static bool is_as_saved(int fd, const struct ar_tree_entry *e, struct stat *ret)
{
	return fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && ar_tree_entry_is_same_stat(e, ret);
}

/* False: it is not as it was saved any more, or cannot be read; nothing of it is in the target then. */
static bool clone_file(struct filling *v, const char *path, const struct ar_tree_entry *e, int *ret_code)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	AR_AUTO(ar_workspace_closep) int fd = ar_beneath_open(v->how->origin, path, flags, false);
	bool is_shared = false;
	struct stat st;

	*ret_code = 0;
	if (fd < 0 || e->is_racy || !is_as_saved(fd, e, &st))
		return false;
	*ret_code = ar_place_clone(&v->place, ar_str_from(path), fd, st.st_mode, &is_shared);
	v->ret->is_shared = v->ret->is_shared && is_shared;
	if (*ret_code || is_as_saved(fd, e, &st))
		return true;
	(void)unlinkat(v->place.folder, strrchr(path, '/') ? strrchr(path, '/') + 1 : path, 0);
	return false;
}

static bool put_saved(struct filling *v, const char *path, const struct ar_tree_entry *e)
{
	char hex[AR_STORE_ID];
	struct ar_str content;
	int code;

	if (!v->has_objects && !ar_objects_open(&v->objects, v->store))
		return false;
	v->has_objects = true;
	if (e->mode != AR_TREE_ENTRY_LINK)
		v->ret->is_shared = false;
	ar_hash_hex(&e->object, hex);
	code = ar_objects_read(&v->objects, (struct ar_str){ hex, sizeof(hex) }, &content);
	if (code == 0)
		code = ar_place_put(&v->place, ar_str_from(path), NULL, e->mode, content);
	return code == 0 || fail(v, e->path, code);
}

static bool bring(struct filling *v, const struct ar_tree_entry *e)
{
	char path[AR_TREE_ENTRY_PATH_MAX + 1];
	int code = 0;

	memcpy(path, e->path.p, e->path.len);
	path[e->path.len] = '\0';
	if (ar_files_is_late(v->store->work))
		return fail(v, e->path, ETIME);
	if (e->mode == AR_TREE_ENTRY_LINK || !clone_file(v, path, e, &code))
		return put_saved(v, path, e);
	return code == 0 || fail(v, e->path, code);
}

static bool bring_all(struct filling *v, const struct ar_tree_entries *l)
{
	bool is_ok = true;

	v->ret->is_shared = l->count > 0;
	for (size_t i = 0; is_ok && i < l->count; i++)
		is_ok = bring(v, &l->at[i]);
	if (v->has_objects)
		ar_objects_close(&v->objects);
	return is_ok;
}

/* ---- files that are too large for a checkpoint ---- */

/* They are brought and belong to the session from then on; no merge looks at them. */
static bool on_large(void *arg, const struct ar_scan_found *f)
{
	struct filling *v = arg;
	bool is_shared;

	if (!S_ISREG(f->st.st_mode) || f->st.st_size <= AR_TREE_ENTRY_BYTES_MAX ||
	    v->large_bytes + f->st.st_size > AR_TREE_ENTRIES_BYTES_MAX)
		return true;
	AR_AUTO(ar_workspace_closep)
	int fd = openat(f->folder, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return true;
	v->large_bytes += f->st.st_size;
	int code = ar_place_clone(&v->place, f->path, fd, f->st.st_mode, &is_shared);

	v->ret->is_shared = v->ret->is_shared && is_shared;
	return code == 0 || fail(v, f->path, code);
}

static bool bring_large(struct filling *v)
{
	struct ar_scan scan = { .work = v->store->work, .found = on_large, .arg = v };

	return ar_scan_run(&scan, v->how->origin);
}

/* ---- the whole ---- */

static bool bring_origin(struct filling *v)
{
	struct ar_saved saved;
	bool is_ok = ar_save(v->store, v->how->origin, true, &saved);

	v->ret->base = saved.tree;
	v->ret->left_out = saved.left_out;
	is_ok = is_ok && bring_all(v, &saved.now) && (saved.left_out == 0 || bring_large(v));
	ar_saved_fini(&saved);
	return is_ok && (!v->how->branch || ar_fill_repository(v->store, v->how));
}

static bool save_target(struct filling *v)
{
	struct ar_saved saved;
	bool is_ok;

	v->store->label = v->store->session;
	is_ok = ar_save(v->store, v->how->target, true, &saved);
	if (is_ok && !v->how->is_empty && memcmp(&saved.tree, &v->ret->base, sizeof(saved.tree)) != 0)
		ar_files_fail(v->store->work, "incomplete", "Try again.",
			      "The folder of the session is not as the workspace was.");
	v->ret->base = saved.tree;
	v->ret->files = (int64_t)saved.now.count;
	v->ret->bytes = saved.now.bytes;
	ar_saved_fini(&saved);
	return is_ok && !ar_files_failed(v->store->work);
}

static bool sync_target(struct filling *v)
{
	if (ar_place_sync(&v->place))
		return true;
	ar_files_fail(v->store->work, "io", "Try again.", "The files could not be made durable: %s.",
		      strerror(errno));
	return false;
}

bool ar_fill_run(struct ar_store *s, const struct ar_fill *f, struct ar_filled *ret)
{
	struct filling v = { .store = s, .how = f, .ret = ret };
	bool is_ok;

	*ret = (struct ar_filled){ 0 };
	v.place = (struct ar_place){ .root = f->target, .folder = -1 };
	is_ok = ar_clear_folder(s->work, f->target) && (f->is_empty || bring_origin(&v)) && save_target(&v) &&
		sync_target(&v);
	ar_place_fini(&v.place);
	return is_ok;
}
