/* See checkpoint.h: requests and answers. What they do is in the files beside. */
#include "checkpoint/checkpoint.h"

#include "checkpoint/changed.h"
#include "checkpoint/measure.h"
#include "checkpoint/restore.h"
#include "shown.h"
#include "workspace.h"

#include <stdio.h>
#include <string.h>

#define DIFF_MAX ((size_t)1 << 20)
#define DIFF_RAW_MAX (DIFF_MAX + 1) /* of git's own bytes: each is at least one of the text */
#define IDS_MAX 10000
#define DAYS_MAX 100000

struct answer {
	const struct ar_hash *id; /* NULL: none */
	int64_t files, bytes, left_out, changed;
	struct ar_str diff; /* absent: none */
	bool is_cut;
};

static void write_answer(struct ar_files_work *w, const struct answer *a)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	struct ar_jw j = ar_jw(&out);
	char id[AR_STORE_ID];

	ar_jw_open(&j);
	if (a->id) {
		ar_hash_hex(a->id, id);
		ar_jw_mstr(&j, "id", (struct ar_str){ id, sizeof(id) });
	}
	ar_jw_mint(&j, "files", a->files);
	ar_jw_mint(&j, "bytes", a->bytes);
	ar_jw_mint(&j, "leftOut", a->left_out);
	ar_jw_mint(&j, "changed", a->changed);
	ar_jw_mstr(&j, "diff", a->diff);
	ar_jw_mbool(&j, "isCut", a->is_cut);
	ar_jw_close(&j);
	w->checkpoint = ar_arena_str(&w->arena, ar_buf_str(&out));
}

static bool open_store(struct ar_files_work *w, struct ar_json args, struct ar_store *ret)
{
	struct ar_str path = AR_STR_NONE, session = AR_STR_NONE;
	bool is_private = false;

	ar_json_str(ar_json_get(args, "store"), &path);
	ar_json_str(ar_json_get(args, "session"), &session);
	ar_json_bool(ar_json_get(args, "private"), &is_private);
	if (!ar_store_open(ret, w, path, session))
		return false;
	ret->label = is_private ? ret->session : NULL;
	return true;
}

/* An id of the arguments, terminated, in the arena; NULL with the failure in the work. */
static const char *read_id(struct ar_files_work *w, struct ar_json v)
{
	struct ar_str id = AR_STR_NONE;

	if (ar_json_str(v, &id) && ar_store_is_id(id))
		return ar_arena_str(&w->arena, id).p;
	ar_files_fail(w, "invalid_arguments", "Use the id of a checkpoint.",
		      "An id of a checkpoint is missing.");
	return NULL;
}

/* What changed since the checkpoint `from`, if the session has it. The checkpoint is made; that this cannot
 * be listed does not undo it. */
static void add_changed(struct ar_store *s, struct ar_json args, const struct ar_saved *saved,
			struct answer *a)
{
	struct ar_files_work *w = s->work;
	struct ar_str from = AR_STR_NONE;
	char to[AR_STORE_ID + 1] = "";
	const char *id;

	if (!ar_json_str(ar_json_get(args, "from"), &from) || !ar_store_is_id(from))
		return;
	id = ar_arena_str(&w->arena, from).p;
	ar_hash_hex(&saved->tree, to);
	if (!ar_store_has(s, id) || strcmp(id, to) == 0)
		return;
	if (!ar_changed_list(s, id, to, &w->versions, &a->changed)) {
		w->versions = AR_STR_NONE;
		ar_files_forgive(w);
	}
}

/* Nobody forgets what sessions kept that are not used any more, or were removed. */
static void forget_others(struct ar_store *s, struct ar_json args)
{
	int64_t days = 0;

	if (ar_json_i64(ar_json_get(args, "keepDays"), &days) && days > 0 && days < DAYS_MAX)
		ar_store_forget_unused(s, days);
}

/* Before anything else: what cannot be saved takes space all the same. */
static void measure(struct ar_files_work *w, struct ar_json args, int root)
{
	bool is_wanted = false;
	struct ar_measured m;

	ar_json_bool(ar_json_get(args, "measure"), &is_wanted);
	if (!is_wanted)
		return;
	m = ar_measure(w, root);
	w->usage = ar_arena_fmt(&w->arena, "{\"bytes\":%lld,\"isPartial\":%s}", (long long)m.bytes,
				m.is_partial ? "true" : "false");
}

void ar_files_checkpoint_save(struct ar_files_work *w, struct ar_json args)
{
	AR_AUTO(ar_workspace_closep) int root = ar_workspace_open(w);
	struct ar_store s;
	struct ar_saved saved;

	if (root < 0)
		return;
	measure(w, args, root);
	if (open_store(w, args, &s)) {
		forget_others(&s, args);
		if (ar_save(&s, root, true, &saved)) {
			struct answer a = { .id = &saved.tree,
					    .files = (int64_t)saved.now.count,
					    .bytes = saved.now.bytes,
					    .left_out = saved.left_out };

			add_changed(&s, args, &saved, &a);
			write_answer(w, &a);
		}
		ar_saved_fini(&saved);
	}
	ar_store_close(&s);
}

void ar_files_checkpoint_restore(struct ar_files_work *w, struct ar_json args)
{
	AR_AUTO(ar_workspace_closep) int root = ar_workspace_open(w);
	const char *to = root < 0 ? NULL : read_id(w, ar_json_get(args, "to"));
	struct ar_restored r = { 0 };
	struct ar_store s;

	if (!to)
		return;
	if (open_store(w, args, &s))
		(void)ar_restore(&s, root, to, &r);
	ar_store_close(&s);
	if (!r.is_begun)
		return;
	w->changes = r.changes;
	write_answer(w, &(struct answer){
				.id = &r.before, .files = r.files, .bytes = r.bytes, .is_cut = r.is_cut });
}

/* ---- differences ---- */

static bool add_sizes(struct ar_store *s, const struct ar_differences *d, int64_t *ret)
{
	static const char *const args[] = { "cat-file", "--batch-check=%(objectsize)", NULL };
	AR_AUTO(ar_buf_fini) struct ar_buf ask = { 0 };
	AR_AUTO(ar_buf_fini) struct ar_buf sizes = { 0 };
	struct ar_str line, rest;
	uint64_t size;

	for (size_t i = 0; i < d->count; i++) {
		if (!d->at[i].is)
			continue;
		ar_buf_adds(&ask, d->at[i].object);
		ar_buf_addc(&ask, '\n');
	}
	if (ask.len > 0 && !ar_store_git(s, args, ar_buf_str(&ask), &sizes))
		return false;
	for (rest = ar_buf_str(&sizes); rest.len > 0;) {
		rest = ar_str_split(rest, '\n', &line);
		*ret += ar_str_to_u64(line, &size) ? (int64_t)size : 0;
	}
	return true;
}

/* Text for people: what is no UTF-8 is replaced. */
static bool add_text(struct ar_store *s, const char *from, const char *to, struct answer *a)
{
	const char *args[] = {
		"diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
		from,	     to,   NULL
	};
	AR_AUTO(ar_buf_fini) struct ar_buf raw = { .cap = DIFF_RAW_MAX };
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };

	if (!ar_store_git(s, args, AR_STR_NONE, &raw))
		return false;
	ar_shown_add_text(&text, ar_buf_str(&raw));
	a->is_cut = a->is_cut || raw.failed || text.len > DIFF_MAX;
	a->diff = ar_arena_str(&s->work->arena, ar_str_utf8_prefix(ar_buf_str(&text), DIFF_MAX));
	return true;
}

static void answer_diff(struct ar_store *s, const char *from, const char *to)
{
	struct ar_files_work *w = s->work;
	struct ar_differences d;
	struct answer a = { 0 };

	if (ar_differences_read(s, from, to, &d)) {
		a.files = (int64_t)d.count;
		w->changes = ar_differences_list(&w->arena, &d, NULL, &a.is_cut);
		if (add_sizes(s, &d, &a.bytes) && add_text(s, from, to, &a))
			write_answer(w, &a);
	}
	ar_differences_fini(&d);
}

/* The tree of the files as they are now, in the arena; NULL with the failure in the work. */
static const char *tree_now(struct ar_store *s)
{
	AR_AUTO(ar_workspace_closep) int root = ar_workspace_open(s->work);
	struct ar_saved saved = { 0 };
	char *id = ar_arena_alloc(&s->work->arena, AR_STORE_ID + 1);
	bool is_ok = root >= 0 && ar_save(s, root, false, &saved);

	ar_hash_hex(&saved.tree, id);
	ar_saved_fini(&saved);
	return is_ok ? id : NULL;
}

static bool check_kept(struct ar_store *s, const char *id)
{
	if (ar_store_has(s, id))
		return true;
	ar_files_fail(s->work, "not_found", "Use a checkpoint that is listed.",
		      "There is no such checkpoint.");
	return false;
}

void ar_files_checkpoint_diff(struct ar_files_work *w, struct ar_json args)
{
	const char *from = read_id(w, ar_json_get(args, "from")), *to = NULL;
	bool is_now = ar_json_type(ar_json_get(args, "to")) != AR_JSON_STR;
	struct ar_store s;

	if (!is_now)
		to = read_id(w, ar_json_get(args, "to"));
	if (ar_files_failed(w))
		return;
	if (open_store(w, args, &s) && check_kept(&s, from)) {
		if (is_now)
			to = tree_now(&s);
		if (to && (is_now || check_kept(&s, to)))
			answer_diff(&s, from, to);
	}
	ar_store_close(&s);
}

/* ---- forgetting ---- */

/* The commands that delete them, for the store's session. */
static bool read_ids(struct ar_store *s, struct ar_json ids, struct ar_buf *ret, size_t *ret_count)
{
	struct ar_files_work *w = s->work;

	for (struct ar_json_iter it = ar_json_iter(ids); !ar_files_failed(w) && ar_json_next(&it);) {
		const char *id = read_id(w, it.value);

		if (++*ret_count > IDS_MAX)
			ar_files_fail(w, "invalid_arguments", "Name fewer at once.",
				      "There are more than %d ids.", IDS_MAX);
		else if (id)
			ar_buf_addf(ret, "delete refs/checkpoints/%s/%s\n", s->session, id);
	}
	return !ar_files_failed(w);
}

void ar_files_checkpoint_forget(struct ar_files_work *w, struct ar_json args)
{
	static const char *const update[] = { "update-ref", "--stdin", NULL };
	AR_AUTO(ar_buf_fini) struct ar_buf ids = { 0 };
	struct ar_store s;
	size_t count = 0;

	if (open_store(w, args, &s) && read_ids(&s, ar_json_get(args, "ids"), &ids, &count) &&
	    (count == 0 || ar_store_git(&s, update, ar_buf_str(&ids), NULL))) {
		if (count > 0)
			ar_store_count_forgotten(&s, count);
		ar_store_pack_if_needed(&s);
		write_answer(w, &(struct answer){ 0 });
	}
	ar_store_close(&s);
}
