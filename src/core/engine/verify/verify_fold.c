/* See the header. What a row means for the state is core/session's, how it is rendered
 * core/projection's; both are used as the live session uses them, so that a difference is one of the
 * store. Owner: the loop thread. */
#include "verify/verify_fold.h"
#include "describe.h"
#include "identity.h"
#include "index_rows.h"
#include "mem.h"

#include <stdlib.h>
#include <string.h>

#define RENEW_EVERY 2000 /* facts before the state's memory is renewed */
#define REFS_NEAR 64 /* newest refs among which a repeated one is looked for */

void ar_fold_init(struct ar_fold *f, struct ar_str session_key, struct ar_json_parser *json,
		  struct ar_json_parser *member_json)
{
	*f = (struct ar_fold){ .json = json };
	ar_session_init(&f->state, session_key, member_json);
}

void ar_fold_fini(struct ar_fold *f)
{
	ar_session_fini(&f->state);
	for (size_t i = 0; i < AR_FOLD_KINDS; i++)
		ar_free(f->digests[i].at);
	ar_free(f->names);
	ar_free(f->refs);
	ar_free(f->removed);
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
	ar_session_init(&f->state, old.session_key, old.json);
	AR_ASSERT(ar_fold_restore(f, ar_buf_str(&f->scratch), &err) == AR_OK);
	ar_session_fini(&old);
}

/* ---- what the store must hold ---- */

static const char *const prefixes[AR_FOLD_KINDS] = { [AR_FOLD_TASK] = "task", [AR_FOLD_ACTION] = "action" };

uint64_t ar_fold_number(const struct ar_fold *f, enum ar_fold_kind kind, struct ar_str id)
{
	struct ar_str prefix = ar_str_from(prefixes[kind]);
	uint64_t n = 0;

	for (size_t i = 0; kind == AR_FOLD_TASK && i < f->name_count; i++) {
		if (ar_str_eq(f->names[i].id, id))
			return f->names[i].number;
	}
	if (!ar_str_starts(id, prefix) || ar_str_absent(id) || id.len <= prefix.len ||
	    id.p[prefix.len] != '_' || !ar_str_eq(ar_id_session_key(id), f->state.session_key) ||
	    !ar_id_counter(id, &n))
		return 0;
	return n;
}

struct ar_str ar_fold_id(const struct ar_fold *f, enum ar_fold_kind kind, uint64_t number, struct ar_arena *a)
{
	for (size_t i = 0; kind == AR_FOLD_TASK && i < f->name_count; i++) {
		if (f->names[i].number == number)
			return ar_arena_str(a, f->names[i].id);
	}
	return ar_id_inner(a, prefixes[kind], f->state.session_key, number);
}

/* The log says once which number a name stands for: as long as the task is in the state. */
static void note_name(struct ar_fold *f, struct ar_str id)
{
	const struct ar_task *task = ar_session_declared(&f->state, id);

	if (!task || !task->sheet->number.set || ar_fold_number(f, AR_FOLD_TASK, id))
		return;
	if (f->name_count == f->name_room) {
		f->name_room = f->name_room ? f->name_room * 2 : 16;
		f->names = ar_grow(f->names, f->name_room, sizeof(*f->names));
	}
	f->names[f->name_count++] = (struct ar_fold_name){ .id = ar_arena_str(&f->kept_arena, id),
							   .number = (uint64_t)task->sheet->number.v };
}

/* Of what stands in `scratch`, and the record. */
static uint64_t digest_with(struct ar_fold *f, struct ar_str record)
{
	struct ar_hash h;
	uint64_t digest;

	ar_buf_adds(&f->scratch, record);
	h = ar_hash_of(ar_buf_str(&f->scratch));
	memcpy(&digest, h.b, sizeof(digest));
	return digest ? digest : 1;
}

uint64_t ar_fold_task_digest(struct ar_fold *f, const struct ar_store_task_row *row)
{
	ar_buf_clear(&f->scratch);
	ar_buf_addf(&f->scratch, "%.*s %d ", AR_STR_ARG(row->status), row->is_internal);
	return digest_with(f, row->record);
}

uint64_t ar_fold_action_digest(struct ar_fold *f, const struct ar_store_action_row *row)
{
	ar_buf_clear(&f->scratch);
	ar_buf_addf(&f->scratch, "%lld %d %.*s %d %.*s ", (long long)row->created, row->is_pending,
		    AR_STR_ARG(row->tenant), ar_str_absent(row->account), AR_STR_ARG(row->account));
	return digest_with(f, row->record);
}

/* The place of a number's digest, made if need be; NULL when the log has not handed that number out. */
static uint64_t *digest_at(struct ar_fold *f, enum ar_fold_kind kind, uint64_t number)
{
	struct ar_fold_digests *d = &f->digests[kind];
	int64_t last = kind == AR_FOLD_TASK ? f->state.counters.task : f->state.counters.action;

	if (number < 1 || number > (uint64_t)last)
		return NULL;
	if (number > d->count) {
		size_t count = number < 64 ? 64 : number * 2;

		d->at = ar_grow(d->at, count, sizeof(*d->at));
		memset(d->at + d->count, 0, (count - d->count) * sizeof(*d->at));
		d->count = count;
	}
	return &d->at[number - 1];
}

static struct ar_fold_kept *find_kept(struct ar_fold *f, enum ar_fold_kind kind, uint64_t number)
{
	for (size_t i = 0; i < f->kept_count; i++) {
		if (f->kept[i].kind == kind && f->kept[i].number == number)
			return &f->kept[i];
	}
	return NULL;
}

static void note_task(struct ar_fold *f, const struct ar_store_task_row *row)
{
	struct ar_fold_kept *kept;
	struct ar_arena *a = &f->kept_arena;
	uint64_t number, *digest;

	note_name(f, row->task);
	number = ar_fold_number(f, AR_FOLD_TASK, row->task);
	digest = digest_at(f, AR_FOLD_TASK, number);
	kept = find_kept(f, AR_FOLD_TASK, number);
	if (digest)
		*digest = ar_fold_task_digest(f, row);
	if (digest && kept)
		kept->task = (struct ar_store_task_row){ .task = ar_arena_str(a, row->task),
							 .status = row->status,
							 .record = ar_arena_str(a, row->record),
							 .is_internal = row->is_internal };
}

static void note_action(struct ar_fold *f, const struct ar_store_action_row *row)
{
	uint64_t number = ar_fold_number(f, AR_FOLD_ACTION, row->action);
	uint64_t *digest = digest_at(f, AR_FOLD_ACTION, number);
	struct ar_fold_kept *kept = find_kept(f, AR_FOLD_ACTION, number);
	struct ar_arena *a = &f->kept_arena;

	if (digest)
		*digest = ar_fold_action_digest(f, row);
	if (digest && kept)
		kept->action = (struct ar_store_action_row){ .action = ar_arena_str(a, row->action),
							     .tenant = ar_arena_str(a, row->tenant),
							     .account = ar_arena_str(a, row->account),
							     .created = row->created,
							     .is_pending = row->is_pending,
							     .record = ar_arena_str(a, row->record) };
}

static void note_ref(struct ar_fold *f, struct ar_str ref, uint64_t sequence)
{
	struct ar_str session_key;
	struct ar_hash hash;

	if (ar_str_absent(ref) || !ar_ref_parse(ref, &session_key, &hash) ||
	    !ar_str_eq(session_key, f->state.session_key))
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

/* It may be stored again later: then it is looked for, and found. */
static void note_removed(struct ar_fold *f, const struct ar_event *e)
{
	struct ar_str session_key;
	struct ar_hash hash;

	if (e->type != AR_EV_OUTPUT_EXPIRED && e->type != AR_EV_OUTPUT_REDACTED)
		return;
	if (e->type == AR_EV_OUTPUT_REDACTED &&
	    ar_str_absent(((const struct ar_ev_output_redacted *)e->payload)->replacement_ref))
		return;
	if (!ar_ref_parse(e->ids[AR_SCOPE_OUTPUT], &session_key, &hash))
		return;
	if (f->removed_count == f->removed_room) {
		f->removed_room = f->removed_room ? f->removed_room * 2 : 64;
		f->removed = ar_grow(f->removed, f->removed_room, sizeof(*f->removed));
	}
	f->removed[f->removed_count++] = hash;
}

static int hash_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct ar_hash));
}

void ar_fold_sort_removed(struct ar_fold *f)
{
	if (f->removed_count > 0)
		qsort(f->removed, f->removed_count, sizeof(*f->removed), hash_order);
}

bool ar_fold_is_removed(const struct ar_fold *f, const struct ar_hash *hash)
{
	return f->removed_count > 0 &&
	       bsearch(hash, f->removed, f->removed_count, sizeof(*f->removed), hash_order);
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

static void note_rows(struct ar_fold *f, const struct ar_event *events, size_t count)
{
	struct ar_store_task_row *tasks = ar_arena_alloc(&f->arena, (2 * count + 1) * sizeof(*tasks));
	struct ar_store_action_row *actions = ar_arena_alloc(&f->arena, (count + 1) * sizeof(*actions));
	size_t n = ar_index_tasks(&f->state, events, count, &f->arena, tasks);

	for (size_t i = 0; i < n; i++)
		note_task(f, &tasks[i]);
	n = ar_index_actions(&f->state, events, count, &f->arena, actions);
	for (size_t i = 0; i < n; i++)
		note_action(f, &actions[i]);
}

static bool is_far_enough(const struct ar_fold *f)
{
	return f->until && f->state.head >= f->until;
}

/* All facts of one commit; its rows were rendered behind the last of them. */
static enum ar_status fold_row(struct ar_fold *f, const struct ar_store_row *row, struct ar_error *err)
{
	size_t room = count_lines(row->body), n = 0;
	struct ar_event *events = ar_arena_alloc(&f->arena, room * sizeof(*events));
	struct ar_str rest = row->body, line;

	while (!ar_str_empty(rest)) {
		rest = ar_str_split(rest, '\n', &line);
		if (ar_str_empty(line))
			continue;
		if (is_far_enough(f))
			return AR_OK;
		if (fold_line(f, line, &events[n++], err) != AR_OK)
			return AR_E_CORRUPT;
		if (f->each)
			f->each(f->arg, &events[n - 1], line);
	}
	if (f->state.head != row->last_seq)
		return ar_fail(err, AR_E_CORRUPT,
			       "a row of the log should end with fact %llu, but ends with %llu",
			       (unsigned long long)row->last_seq, (unsigned long long)f->state.head);
	if (f->is_bare)
		return AR_OK;
	for (size_t i = 0; i < n; i++) {
		note_refs(f, &events[i]);
		note_removed(f, &events[i]);
	}
	note_rows(f, events, n);
	return AR_OK;
}

enum ar_status ar_fold_rows(struct ar_fold *f, const struct ar_store_row *rows, size_t count,
			    struct ar_error *err)
{
	enum ar_status rc = AR_OK;

	for (size_t i = 0; i < count && rc == AR_OK; i++) {
		if (is_far_enough(f))
			return AR_OK;
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
