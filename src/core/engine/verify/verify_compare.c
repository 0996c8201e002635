/* The comparisons of a verification: a difference becomes a finding that says what is stored and what
 * the log gives. Reads nothing and changes no session. Owner: the loop thread. */
#include "identity.h"
#include "index_rows.h"
#include "mem.h"
#include "verify/verify_priv.h"

#include <stdio.h>
#include <string.h>

#define SHOWN 200 /* bytes of a text in a finding */

static struct ar_str shown(struct ar_arena *a, struct ar_str text)
{
	return ar_arena_str(a, ar_str_utf8_prefix(text, SHOWN));
}

void ar_verify_find(struct ar_verify *w, const struct ar_verify_finding *f)
{
	struct ar_engine_verify *v = w->v;

	if (!v->findings)
		v->findings = ar_arena_alloc(&v->arena, AR_VERIFY_FINDINGS * sizeof(*v->findings));
	if (v->finding_count == AR_VERIFY_FINDINGS) {
		v->has_more = true;
		return;
	}
	v->findings[v->finding_count++] = (struct ar_verify_finding){ .what = f->what,
								      .sequence = f->sequence,
								      .id = ar_arena_str(&v->arena, f->id),
								      .stored = shown(&v->arena, f->stored),
								      .folded = shown(&v->arena, f->folded),
								      .message = shown(&v->arena, f->message),
								      .is_repairable = f->is_repairable };
}

void ar_verify_log_broken(struct ar_verify *w, const char *why)
{
	w->is_corrupt = true;
	ar_verify_find(w, &(struct ar_verify_finding){ .what = "log",
						       .sequence = w->whole.state.head + 1,
						       .message = ar_str_from(why) });
}

/* ---- contents ---- */

static void find_content(struct ar_verify *w, const struct ar_fold_ref *ref, const char *fault)
{
	ar_verify_find(w, &(struct ar_verify_finding){
				  .what = "content",
				  .sequence = ref->sequence,
				  .id = ar_ref_make(&w->v->arena, w->whole.state.session_key, &ref->hash),
				  .message = ar_str_from(fault) });
}

static void note_absent(struct ar_verify *w, const struct ar_fold_ref *ref)
{
	if (w->absent_count == w->absent_room) {
		w->absent_room = w->absent_room ? w->absent_room * 2 : 16;
		w->absent = ar_grow(w->absent, w->absent_room, sizeof(*w->absent));
	}
	w->absent[w->absent_count++] = *ref;
}

void ar_verify_contents(struct ar_verify *w)
{
	const struct ar_fold_ref *refs = w->whole.refs + w->refs_seen;

	for (size_t i = 0; i < w->blobs.count; i++) {
		struct ar_hash h;

		if (ar_str_absent(w->blobs.bytes[i])) {
			note_absent(w, &refs[i]);
			continue;
		}
		h = ar_hash_of(w->blobs.bytes[i]);
		if (memcmp(&h, &refs[i].hash, sizeof(h)) != 0)
			find_content(w, &refs[i], "the stored bytes are not those that the ref names");
	}
}

void ar_verify_absent(struct ar_verify *w)
{
	ar_fold_sort_removed(&w->whole);
	for (size_t i = 0; i < w->absent_count; i++) {
		if (!ar_fold_is_removed(&w->whole, &w->absent[i].hash))
			find_content(w, &w->absent[i], "the content is not stored, or cannot be unpacked");
	}
	w->absent_count = 0;
}

/* ---- session row ---- */

static bool is_same(struct ar_str a, struct ar_str b)
{
	return ar_str_absent(a) == ar_str_absent(b) && ar_str_eq(a, b);
}

static void compare_text(struct ar_verify *w, const char *what, struct ar_str stored, struct ar_str folded)
{
	if (!is_same(stored, folded))
		ar_verify_find(w, &(struct ar_verify_finding){ .what = what,
							       .stored = stored,
							       .folded = folded,
							       .is_repairable = true });
}

static void compare_number(struct ar_verify *w, const char *what, int64_t stored, int64_t folded)
{
	struct ar_arena *a = &w->v->arena;

	if (stored != folded)
		compare_text(w, what, ar_arena_fmt(a, "%lld", (long long)stored),
			     ar_arena_fmt(a, "%lld", (long long)folded));
}

static void compare_row(struct ar_verify *w, const struct ar_store_session_row *stored,
			const struct ar_store_session_row *folded)
{
	compare_text(w, "session.shell", stored->shell, folded->shell);
	compare_text(w, "session.status", stored->status, folded->status);
	compare_number(w, "session.active", stored->active, folded->active);
	compare_text(w, "session.tenant", stored->tenant, folded->tenant);
	compare_text(w, "session.workspace", stored->workspace, folded->workspace);
	compare_text(w, "session.account", stored->account, folded->account);
	compare_number(w, "session.created", stored->created, folded->created);
	compare_number(w, "session.updated", stored->updated, folded->updated);
	compare_number(w, "session.due", stored->due, folded->due);
}

/* A read model that is ahead of the log is right: the log lost its end. With somebody's consent the
 * session goes on without it, if anything is left. */
static bool has_lost_its_end(struct ar_verify *w)
{
	uint64_t known = ar_index_head(w->engine->json, w->index.row.shell), head = w->whole.state.head;
	char why[96];

	if (w->index.snapshot_seq > known)
		known = w->index.snapshot_seq;
	if (known <= head)
		return false;
	snprintf(why, sizeof(why), "the log ends here, but facts up to %llu were stored",
		 (unsigned long long)known);
	if (!w->v->accept_loss || head == 0) {
		ar_verify_log_broken(w, why);
		return true;
	}
	w->lost_to = known;
	ar_verify_find(w, &(struct ar_verify_finding){ .what = "log",
						       .sequence = head + 1,
						       .message = ar_str_from(why),
						       .is_repairable = true });
	return false;
}

/* Rows and facts are stored together: a log that is ahead of them has facts that no commit wrote. To write
 * the rows again would make them true. */
static bool has_foreign_end(struct ar_verify *w)
{
	uint64_t known = ar_index_head(w->engine->json, w->index.row.shell), head = w->whole.state.head;
	char why[128];

	if (known == 0 || known >= head)
		return false;
	snprintf(why, sizeof(why), "facts up to %llu were stored; those up to %llu were added to the table",
		 (unsigned long long)known, (unsigned long long)head);
	w->is_corrupt = true;
	ar_verify_find(w, &(struct ar_verify_finding){
				  .what = "log", .sequence = known + 1, .message = ar_str_from(why) });
	return true;
}

void ar_verify_index(struct ar_verify *w)
{
	struct ar_arena *a = &w->v->arena;
	struct ar_store_session_row folded;

	if (has_lost_its_end(w) || has_foreign_end(w))
		return;
	folded = ar_index_session(&w->whole.state, a);
	if (w->index.has_row)
		compare_row(w, &w->index.row, &folded);
	else
		ar_verify_find(w, &(struct ar_verify_finding){
					  .what = "session.row",
					  .folded = folded.shell,
					  .message = AR_STR("the row is missing: lists do not "
							    "show the session"),
					  .is_repairable = true });
}

/* ---- snapshot and memory ---- */

void ar_verify_snapshot_broken(struct ar_verify *w, const char *why)
{
	ar_verify_find(w, &(struct ar_verify_finding){ .what = "snapshot",
						       .sequence = w->index.snapshot_seq,
						       .message = ar_str_from(why),
						       .is_repairable = true });
}

/* Finds where two states part; the texts from a little before that place tell most. */
static void compare_states(struct ar_verify *w, const char *what, const struct ar_session *other)
{
	struct ar_buf a = { 0 }, b = { 0 };
	size_t at = 0;

	ar_session_snapshot(other, &a);
	ar_session_snapshot(&w->whole.state, &b);
	while (at < a.len && at < b.len && a.p[at] == b.p[at])
		at++;
	if (at < a.len || at < b.len) {
		at = at > 40 ? at - 40 : 0;
		compare_text(w, what, ar_str_sub(ar_buf_str(&a), at, SHOWN),
			     ar_str_sub(ar_buf_str(&b), at, SHOWN));
	}
	ar_buf_fini(&a);
	ar_buf_fini(&b);
}

void ar_verify_tail(struct ar_verify *w)
{
	compare_states(w, "snapshot", &w->tail.state);
}

void ar_verify_memory(struct ar_verify *w)
{
	if (w->held->is_loaded)
		compare_states(w, "memory", &w->held->state);
}

/* ---- rows of tasks and actions ---- */

static void bad_row(struct ar_verify *w, enum ar_fold_kind kind, uint64_t number, struct ar_str id,
		    struct ar_str stored)
{
	static const char *const names[AR_FOLD_KINDS] = {
		[AR_FOLD_TASK] = "task", [AR_FOLD_ACTION] = "action"
	};
	bool fits = number && w->bad_count < AR_FOLD_KEEP_MAX, is_missing = ar_str_absent(id);

	ar_verify_find(w, &(struct ar_verify_finding){
				  .what = names[kind],
				  .id = is_missing ? ar_fold_id(&w->whole, kind, number, &w->v->arena) : id,
				  .stored = stored,
				  .message = is_missing ? AR_STR("the row is missing")
					     : number	? AR_STR("the row is not what the log says")
							: AR_STR("the log gives no such row"),
				  .is_repairable = fits });
	if (fits)
		w->bad[w->bad_count++] = (struct ar_fold_kept){ .kind = kind, .number = number };
	else
		w->v->has_more |= number > 0;
}

/* A stored row; its digest is what the log's has to be, which is struck. */
static void compare_digest(struct ar_verify *w, enum ar_fold_kind kind, uint64_t stored_digest,
			   struct ar_str id, struct ar_str stored)
{
	const struct ar_fold_digests *d = &w->whole.digests[kind];
	uint64_t number = ar_fold_number(&w->whole, kind, id);
	uint64_t *digest = number && number <= d->count ? &d->at[number - 1] : NULL;

	if (!digest || *digest == 0)
		bad_row(w, kind, 0, id, stored);
	else if (*digest != stored_digest)
		bad_row(w, kind, number, id, stored);
	if (digest)
		*digest = 0;
}

void ar_verify_tasks(struct ar_verify *w)
{
	for (size_t i = 0; i < w->tasks.count; i++) {
		const struct ar_store_task_row *row = &w->tasks.rows[i];

		compare_digest(w, AR_FOLD_TASK, ar_fold_task_digest(&w->whole, row), row->task, row->record);
	}
}

void ar_verify_actions(struct ar_verify *w)
{
	for (size_t i = 0; i < w->actions.count; i++) {
		const struct ar_store_action_row *row = &w->actions.rows[i];

		compare_digest(w, AR_FOLD_ACTION, ar_fold_action_digest(&w->whole, row), row->action,
			       row->record);
	}
}

void ar_verify_missing(struct ar_verify *w, enum ar_fold_kind kind)
{
	const struct ar_fold_digests *d = &w->whole.digests[kind];

	for (size_t i = 0; i < d->count; i++) {
		if (d->at[i] != 0)
			bad_row(w, kind, i + 1, AR_STR_NONE, AR_STR_NONE);
	}
}

/* ---- repair ---- */

static struct ar_str *room_for(const struct ar_engine_verify *v, struct ar_arena *a)
{
	return ar_arena_alloc(a, (v->finding_count + 1) * sizeof(struct ar_str));
}

static struct ar_texts repaired(const struct ar_engine_verify *v, struct ar_arena *a)
{
	struct ar_str *names = room_for(v, a);
	const char *last = "";
	size_t n = 0;

	for (size_t i = 0; i < v->finding_count; i++) {
		const struct ar_verify_finding *f = &v->findings[i];

		if (!f->is_repairable || (strcmp(f->what, last) == 0 && ar_str_absent(f->id)))
			continue;
		last = f->what;
		names[n++] = ar_str_absent(f->id) ? ar_str_from(f->what) : ar_arena_str(a, f->id);
	}
	return (struct ar_texts){ names, n };
}

static struct ar_texts unavailable(const struct ar_engine_verify *v, struct ar_arena *a)
{
	struct ar_str *refs = room_for(v, a);
	size_t n = 0;

	for (size_t i = 0; i < v->finding_count; i++) {
		if (strcmp(v->findings[i].what, "content") == 0)
			refs[n++] = ar_arena_str(a, v->findings[i].id);
	}
	return (struct ar_texts){ refs, n };
}

struct ar_repair ar_verify_repair(const struct ar_verify *w, struct ar_arena *a)
{
	return (struct ar_repair){ .from = w->lost_to ? w->v->facts + 1 : 1,
				   .to = w->lost_to ? w->lost_to : w->v->facts,
				   .is_loss = w->lost_to > 0,
				   .fields = repaired(w->v, a),
				   .unavailable = unavailable(w->v, a) };
}
