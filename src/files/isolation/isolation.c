/* See isolation.h: requests and answers. What they do is in the files beside. */
#include "isolation/isolation.h"

#include "io/descriptor.h"
#include "isolation/clear.h"
#include "isolation/fill.h"
#include "isolation/merge.h"
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define BRANCH_MAX 100

struct request {
	struct ar_str folder, kind, branch, base, apply, choice;
	struct ar_store store;
	int origin, session;
};

static struct ar_str text(struct ar_json args, const char *name)
{
	struct ar_str s = AR_STR_NONE;

	ar_json_str(ar_json_get(args, name), &s);
	return s;
}

static int open_session(struct ar_files_work *w, struct ar_str path)
{
	const char *name = ar_arena_str(&w->arena, path).p;
	int fd = path.len > 1 && path.p[0] == '/'
			 ? open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
			 : (errno = EINVAL, -1);

	if (fd < 0)
		ar_files_fail(w, "io", "Tell the operator.",
			      "The folder of the session cannot be opened: %s.", strerror(errno));
	return fd;
}

/* False with the failure in the work; close_request() follows in any case. */
static bool open_request(struct ar_files_work *w, struct ar_json args, struct request *r)
{
	*r = (struct request){ .folder = text(args, "folder"),
			       .kind = text(args, "kind"),
			       .branch = text(args, "branch"),
			       .base = text(args, "base"),
			       .apply = text(args, "apply"),
			       .choice = text(args, "choice"),
			       .store = { .work = w, .fd = -1, .lock = -1 },
			       .origin = -1,
			       .session = -1 };
	r->origin = ar_workspace_open(w);
	if (r->origin >= 0)
		r->session = open_session(w, r->folder);
	return r->session >= 0 && ar_store_open(&r->store, w, text(args, "store"), text(args, "session"));
}

static void close_request(struct request *r)
{
	ar_store_close(&r->store);
	ar_fd_close(&r->origin);
	ar_fd_close(&r->session);
}

static struct ar_jw begin_answer(struct ar_buf *out, const struct ar_hash *id)
{
	struct ar_jw j = ar_jw(out);
	char hex[AR_STORE_ID];

	ar_jw_open(&j);
	if (id) {
		ar_hash_hex(id, hex);
		ar_jw_mstr(&j, "id", (struct ar_str){ hex, sizeof(hex) });
	}
	return j;
}

static void end_answer(struct ar_files_work *w, struct ar_jw *j, const struct ar_buf *out)
{
	ar_jw_close(j);
	w->checkpoint = ar_arena_str(&w->arena, ar_buf_str(out));
}

/* ---- workspace_fill ---- */

static bool is_branch(struct ar_str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '/' && c != '_')
			return false;
	}
	return name.len > 0 && name.len <= BRANCH_MAX;
}

static bool read_fill(struct ar_files_work *w, const struct request *r, struct ar_fill *ret)
{
	bool is_worktree = ar_str_is(r->kind, "worktree");

	*ret = (struct ar_fill){ .origin = r->origin,
				 .target = r->session,
				 .origin_path = w->workspace.p,
				 .target_path = ar_arena_str(&w->arena, r->folder).p,
				 .is_empty = ar_str_is(r->kind, "empty"),
				 .branch = is_worktree ? ar_arena_str(&w->arena, r->branch).p : NULL };
	if ((is_worktree && is_branch(r->branch)) || ret->is_empty || ar_str_is(r->kind, "copy") ||
	    ar_str_is(r->kind, "overlay"))
		return true;
	ar_files_fail(w, "invalid_arguments", "Name a kind, and a branch for a worktree.",
		      "There is no such isolation.");
	return false;
}

static void answer_fill(struct ar_files_work *w, const struct ar_fill *how, const struct ar_filled *f)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	struct ar_jw j = begin_answer(&out, &f->base);

	ar_jw_mint(&j, "files", f->files);
	ar_jw_mint(&j, "bytes", f->bytes);
	ar_jw_mint(&j, "leftOut", f->left_out);
	ar_jw_mstr(&j, "method",
		   how->is_empty  ? AR_STR("none")
		   : f->is_shared ? AR_STR("reflink")
				  : AR_STR("copy"));
	end_answer(w, &j, &out);
}

void ar_files_workspace_fill(struct ar_files_work *w, struct ar_json args)
{
	struct ar_filled filled;
	struct ar_fill how;
	struct request r;

	if (open_request(w, args, &r) && read_fill(w, &r, &how) && ar_fill_run(&r.store, &how, &filled))
		answer_fill(w, &how, &filled);
	close_request(&r);
}

/* ---- workspace_merge ---- */

static enum ar_merge_choice choice_of(struct ar_str word)
{
	static const char *const words[] = { [AR_MERGE_SESSION] = "session",
					     [AR_MERGE_WORKSPACE] = "workspace",
					     [AR_MERGE_LEAVE_OUT] = "leave_out" };

	for (size_t i = AR_MERGE_SESSION; i < AR_ARRAY_LEN(words); i++) {
		if (ar_str_is(word, words[i]))
			return (enum ar_merge_choice)i;
	}
	return AR_MERGE_ASK;
}

static bool read_merge(struct ar_files_work *w, const struct request *r, struct ar_json args,
		       struct ar_merge *ret)
{
	*ret = (struct ar_merge){ .session = r->session,
				  .workspace = r->origin,
				  .base = ar_arena_str(&w->arena, r->base).p,
				  .apply = ar_str_absent(r->apply) ? NULL
								   : ar_arena_str(&w->arena, r->apply).p,
				  .choice = choice_of(r->choice),
				  .paths = ar_json_get(args, "paths"),
				  .protected_paths = ar_json_get(args, "protected") };
	if (ar_store_is_id(r->base) && (ar_str_absent(r->apply) || r->apply.len <= BRANCH_MAX))
		return true;
	ar_files_fail(w, "invalid_arguments", "Name the state that the session began with.",
		      "There is no base of the merge.");
	return false;
}

/* Without conflicts the base moves; with them nothing was done. */
static void answer_merge(struct ar_files_work *w, const struct ar_merged *m)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	bool is_done = ar_str_absent(m->conflicts);
	struct ar_jw j = begin_answer(&out, is_done ? &m->done.before : NULL);
	char hex[AR_STORE_ID];

	ar_hash_hex(&m->base, hex);
	if (is_done)
		ar_jw_mstr(&j, "base", (struct ar_str){ hex, sizeof(hex) });
	ar_jw_mint(&j, "files", is_done ? m->done.files : m->conflict_count);
	ar_jw_mint(&j, "bytes", m->done.bytes);
	ar_jw_mint(&j, "leftOut", m->left_out);
	ar_jw_mbool(&j, "isCut", m->done.is_cut);
	ar_jw_mraw(&j, "conflicts", m->conflicts);
	end_answer(w, &j, &out);
	w->changes = is_done ? m->done.changes : AR_STR("[]");
}

void ar_files_workspace_merge(struct ar_files_work *w, struct ar_json args)
{
	struct ar_merged merged;
	struct ar_merge how;
	struct request r;

	if (open_request(w, args, &r) && read_merge(w, &r, args, &how) &&
	    ar_merge_run(&r.store, &how, &merged))
		answer_merge(w, &merged);
	close_request(&r);
}

/* ---- workspace_clear ---- */

void ar_files_workspace_clear(struct ar_files_work *w, struct ar_json args)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	AR_AUTO(ar_fd_close) int folder = open_session(w, text(args, "folder"));

	if (folder < 0 || !ar_clear_folder(w, folder))
		return;
	struct ar_jw j = begin_answer(&out, NULL);

	ar_jw_mint(&j, "files", 0);
	ar_jw_mint(&j, "bytes", 0);
	ar_jw_mint(&j, "leftOut", 0);
	end_answer(w, &j, &out);
}
