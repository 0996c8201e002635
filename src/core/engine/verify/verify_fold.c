/* See the header. What a row means for the state is core/session's, how it is rendered core/projection's; both are used as the live
 * session uses them, so that a difference is one of the store. Owner: the loop thread. */
#include "verify/verify_fold.h"
#include "describe.h"
#include "identity.h"
#include "index_rows.h"
#include "mem.h"

#include <string.h>

#define RENEW_EVERY 2000 /* facts before the state's memory is renewed */
#define REFS_NEAR 64 /* newest refs among which a repeated one is looked for */

void ar_fold_init(struct ar_fold *f, struct ar_str core, struct ar_json_parser *json,
		  struct ar_json_parser *member_json)
{
	*f = (struct ar_fold){ .json = json };
	ar_session_init(&f->state, core, member_json);
}

void ar_fold_fini(struct ar_fold *f)
{
	ar_session_fini(&f->state);
	ar_free(f->digests);
	ar_free(f->refs);
	ar_arena_fini(&f->arena);
	ar_arena_fini(&f->kept_arena);
	ar_buf_fini(&f->scratch);
	*f = (struct ar_fold){ 0 };
}

/* ---- state ---- */

enum ar_status ar_fold_restore(struct ar_fold *f, struct ar_str snapshot, struct ar_error *err)
{
	struct ar_json v;

	if (ar_json_parse(f->json, snapshot, &v, err) != AR_OK ||
	    ar_session_restore(&f->state, v, err) != AR_OK)
		return AR_E_CORRUPT;
	f->renewed = f->state.head;
	return AR_OK;
}

/* As the engine does when it has written a snapshot: what left the windows gives its memory back. */
static void renew(struct ar_fold *f)
{
	struct ar_session old = f->state;
	struct ar_error err;

	if (f->state.head - f->renewed < RENEW_EVERY)
		return;
	ar_buf_clear(&f->scratch);
	ar_session_snapshot(&old, &f->scratch);
	ar_session_init(&f->state, old.core, old.json);
	AR_ASSERT(ar_fold_restore(f, ar_buf_str(&f->scratch), &err) == AR_OK);
	ar_session_fini(&old);
}

/* ---- what the store must hold ---- */

uint64_t ar_fold_task_number(const struct ar_fold *f, struct ar_str task)
{
	uint64_t n = 0;

	if (!ar_str_starts(task, AR_STR("task_")) || !ar_str_eq(ar_id_core(task), f->state.core) ||
	    !ar_id_counter(task, &n))
		return 0;
	return n;
}

uint64_t ar_fold_digest(struct ar_fold *f, const struct ar_store_task_row *row)
{
	struct ar_hash h;
	uint64_t digest;

	ar_buf_clear(&f->scratch);
	ar_buf_addf(&f->scratch, "%.*s %d ", AR_STR_ARG(row->status), row->is_internal);
	ar_buf_adds(&f->scratch, row->record);
	h = ar_hash_of(ar_buf_str(&f->scratch));
	memcpy(&digest, h.b, sizeof(digest));
	return digest ? digest : 1;
}

static void keep_row(struct ar_fold *f, uint64_t number, const struct ar_store_task_row *row)
{
	struct ar_arena *a = &f->kept_arena;

	for (size_t i = 0; i < f->kept_count; i++) {
		if (f->kept[i].task != number)
			continue;
		f->kept[i].row = (struct ar_store_task_row){ .task = ar_arena_str(a, row->task),
							     .status = row->status,
							     .record = ar_arena_str(a, row->record),
							     .is_internal = row->is_internal };
	}
}

static void note_task(struct ar_fold *f, const struct ar_store_task_row *row)
{
	uint64_t number = ar_fold_task_number(f, row->task);

	if (number < 1 || number > (uint64_t)f->state.counters.task)
		return;
	if (number > f->digest_count) {
		size_t count = number < 64 ? 64 : number * 2;

		f->digests = ar_grow(f->digests, count, sizeof(*f->digests));
		memset(f->digests + f->digest_count, 0, (count - f->digest_count) * sizeof(*f->digests));
		f->digest_count = count;
	}
	f->digests[number - 1] = ar_fold_digest(f, row);
	keep_row(f, number, row);
}

static void note_ref(struct ar_fold *f, struct ar_str ref, uint64_t sequence)
{
	struct ar_str core;
	struct ar_hash hash;

	if (ar_str_absent(ref) || !ar_ref_parse(ref, &core, &hash) || !ar_str_eq(core, f->state.core))
		return;
	for (size_t i = f->ref_count, near = 0; i > 0 && near < REFS_NEAR; i--, near++) {
		if (memcmp(&f->refs[i - 1].hash, &hash, sizeof(hash)) == 0)
			return;
	}
	if (f->ref_count == f->ref_room) {
		f->ref_room = f->ref_room ? f->ref_room * 2 : 64;
		f->refs = ar_grow(f->refs, f->ref_room, sizeof(*f->refs));
	}
	f->refs[f->ref_count++] = (struct ar_fold_ref){ hash, sequence };
}

static void note_refs(struct ar_fold *f, const struct ar_event *e)
{
	const struct ar_struct_desc *d = &ar_event_describe(e->type)->payload;

	for (size_t i = 0; i < d->count; i++) {
		struct ar_str ref;

		if (d->fields[i].kind != AR_F_REF)
			continue;
		memcpy(&ref, (const char *)e->payload + d->fields[i].offset, sizeof(ref));
		note_ref(f, ref, e->sequence);
	}
}

void ar_fold_forget_refs(struct ar_fold *f)
{
	f->ref_count = 0;
}

/* ---- rows ---- */

static enum ar_status fold_line(struct ar_fold *f, struct ar_str line, struct ar_event *ret,
				struct ar_error *err)
{
	struct ar_json v;

	if (ar_json_parse(f->json, line, &v, err) != AR_OK ||
	    ar_event_decode(v, &f->arena, ret, err) != AR_OK)
		return ar_fail_wrap(err, "the fact does not decode");
	if (!ar_str_eq(ret->session_id, f->state.id))
		return ar_fail(err, AR_E_CORRUPT, "the fact is one of session %.*s",
			       AR_STR_ARG(ar_str_sub(ret->session_id, 0, 64)));
	return ar_session_apply(&f->state, ret, err);
}

static size_t count_lines(struct ar_str body)
{
	size_t n = 1;

	for (size_t i = 0; i < body.len; i++)
		n += body.p[i] == '\n';
	return n;
}

/* All facts of one commit; its task rows were rendered behind the last of them. */
static enum ar_status fold_row(struct ar_fold *f, const struct ar_store_row *row, struct ar_error *err)
{
	size_t room = count_lines(row->body), n = 0;
	struct ar_event *events = ar_arena_alloc(&f->arena, room * sizeof(*events));
	struct ar_store_task_row *tasks;
	struct ar_str rest = row->body, line;

	while (!ar_str_empty(rest)) {
		rest = ar_str_split(rest, '\n', &line);
		if (!ar_str_empty(line) && fold_line(f, line, &events[n++], err) != AR_OK)
			return AR_E_CORRUPT;
	}
	if (f->state.head != row->last_seq)
		return ar_fail(err, AR_E_CORRUPT,
			       "a row of the log says it ends with fact %llu, it ends with %llu",
			       (unsigned long long)row->last_seq, (unsigned long long)f->state.head);
	if (f->is_bare)
		return AR_OK;
	for (size_t i = 0; i < n; i++)
		note_refs(f, &events[i]);
	tasks = ar_arena_alloc(&f->arena, room * sizeof(*tasks));
	n = ar_index_tasks(&f->state, events, n, &f->arena, tasks);
	for (size_t i = 0; i < n; i++)
		note_task(f, &tasks[i]);
	return AR_OK;
}

enum ar_status ar_fold_rows(struct ar_fold *f, const struct ar_store_row *rows, size_t count,
			    struct ar_error *err)
{
	enum ar_status rc = AR_OK;

	for (size_t i = 0; i < count && rc == AR_OK; i++) {
		if (rows[i].last_seq <= f->state.head)
			continue;
		if (rows[i].first_seq != f->state.head + 1)
			return ar_fail(err, AR_E_CORRUPT,
				       "fact %llu is missing; the next row begins with %llu",
				       (unsigned long long)f->state.head + 1,
				       (unsigned long long)rows[i].first_seq);
		rc = fold_row(f, &rows[i], err);
		ar_arena_reset(&f->arena);
		renew(f);
	}
	return rc;
}
