/* Reads of the memory store: linear scans over one session or all of them, results copied into the
 * operation's arena exactly as an engine would. */
#include "memory.h"

#include "mem.h"

#include <stdlib.h>
#include <string.h>

static void add_row(struct ar_arena *a, struct ar_store_row **rows, size_t *count,
		    const struct ar_store_row *row)
{
	*rows = ar_store_extend(a, *rows, *count, sizeof **rows);
	(*rows)[*count] = *row;
	(*rows)[(*count)++].body = ar_arena_str(a, row->body);
}

static void add_chunk(struct ar_store_load *op, const struct ar_store_chunk_row *chunk)
{
	struct ar_arena *a = &op->op.arena;
	struct ar_store_chunk_row *c;

	op->chunks = ar_store_extend(a, op->chunks, op->chunk_count, sizeof *op->chunks);
	c = &op->chunks[op->chunk_count++];
	*c = *chunk;
	c->step = ar_arena_str(a, chunk->step);
	c->bytes = ar_arena_str(a, chunk->bytes);
}

/* The session if it has facts; chunks alone do not make one. */
static const struct ar_memory_session *find_session(const struct ar_memory *m, struct ar_str session)
{
	struct ar_store_key key;
	const struct ar_memory_session *ms = NULL;

	if (ar_store_key_parse(session, &key))
		ms = ar_memory_session(m, &key);
	return ar_memory_head(ms) ? ms : NULL;
}

static enum ar_status load(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_load *op = AR_CONTAINER_OF(base, struct ar_store_load, op);
	const struct ar_memory_session *ms = find_session(m, op->session);

	op->snapshot = op->shell = AR_STR_NONE;
	op->snapshot_seq = 0;
	op->rows = NULL;
	op->chunks = NULL;
	op->row_count = op->chunk_count = 0;
	if (!ms)
		return ar_store_fail_unknown(&base->err, op->session);
	op->snapshot = ar_arena_str(&base->arena, ms->snapshot);
	op->shell = ar_arena_str(&base->arena, ms->row.shell);
	op->snapshot_seq = ms->snapshot_seq;
	for (size_t i = 0; i < ms->row_count; i++) {
		if (ms->rows[i].first_seq > op->snapshot_seq)
			add_row(&base->arena, &op->rows, &op->row_count, &ms->rows[i]);
	}
	for (size_t i = 0; i < ms->chunk_count; i++)
		add_chunk(op, &ms->chunks[i]);
	return AR_OK;
}

/* The rows [*first, *end) that the window may hold, before the byte limit. */
static void bound_window(const struct ar_memory_session *ms, const struct ar_store_read *op, size_t *first,
			 size_t *end)
{
	*first = 0;
	*end = ms->row_count;
	if (op->backward) {
		while (*end > 0 && ms->rows[*end - 1].first_seq > op->from)
			--*end;
		return;
	}
	while (*first < *end && ms->rows[*first].last_seq < op->from)
		++*first;
}

/* How many of `count` rows fit the limit, walking from row `at` in the direction asked for; at least one
 * if any. */
static size_t fits_page(const struct ar_memory_session *ms, const struct ar_store_read *op, size_t at,
			size_t count)
{
	size_t n = 0, used = 0;

	for (; n < count; n++) {
		size_t len = ms->rows[op->backward ? at - n : at + n].body.len;

		if (n && (used > op->max_bytes || len > op->max_bytes - used))
			break;
		used += len;
	}
	return n;
}

static enum ar_status read_log(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_read *op = AR_CONTAINER_OF(base, struct ar_store_read, op);
	const struct ar_memory_session *ms = find_session(m, op->session);
	size_t first, end, n;

	op->rows = NULL;
	op->row_count = 0;
	op->at_end = false;
	op->head = ar_memory_head(ms);
	if (!ms)
		return ar_store_fail_unknown(&base->err, op->session);
	bound_window(ms, op, &first, &end);
	n = fits_page(ms, op, op->backward ? end - 1 : first, end - first);
	op->at_end = n == end - first;
	if (op->backward)
		first = end - n;
	for (size_t i = first; i < first + n; i++)
		add_row(&base->arena, &op->rows, &op->row_count, &ms->rows[i]);
	return AR_OK;
}

static enum ar_status get_receipt(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_receipt_get *op = AR_CONTAINER_OF(base, struct ar_store_receipt_get, op);

	op->found = (struct ar_store_receipt){ .scope = op->scope, .key = op->key };
	if (ar_memory_receipt_find(m, op->scope, op->key, &base->arena, &op->found))
		return ar_store_fail_no_receipt(&base->err, op->key);
	return AR_OK;
}

static bool may_see(const struct ar_memory *m, struct ar_str session, const struct ar_hash *hash)
{
	const struct ar_memory_session *ms;
	struct ar_store_key key;

	if (ar_str_absent(session))
		return true;
	ms = ar_store_key_parse(session, &key) ? ar_memory_session(m, &key) : NULL;
	return ms && ar_memory_has_ref(ms, hash);
}

static enum ar_status get_blobs(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_blobs_get *op = AR_CONTAINER_OF(base, struct ar_store_blobs_get, op);

	op->bytes = ar_arena_alloc(&base->arena, (op->count + 1) * sizeof *op->bytes);
	for (size_t i = 0; i < op->count; i++) {
		struct ar_str name = { (const char *)op->hashes[i].b, AR_HASH_LEN };
		const struct ar_memory_blob *kept = ar_map_get(&m->blobs, name);

		if (kept && !may_see(m, op->session, &op->hashes[i]))
			kept = NULL;
		op->bytes[i] = kept ? ar_arena_str(&base->arena, kept->b.bytes) : AR_STR_NONE;
	}
	return AR_OK;
}

static bool matches_filter(struct ar_str filter, struct ar_str value)
{
	return ar_str_absent(filter) || ar_str_eq(filter, value);
}

/* Ends of a list, which are no part of it; NULL = none. */
struct ends {
	const struct ar_store_key *before, *above;
};

static bool is_listed(const struct ar_memory_session *ms, const struct ar_store_sessions *op,
		      const struct ends *ends)
{
	if (!ms->has_row || (op->active_only && !ms->row.active) || (op->open_only && !ms->row.open) ||
	    !ar_store_sessions_match(op, &ms->key) || ms->row.updated < op->updated_since ||
	    (!ar_str_absent(op->except) && ar_str_eq(op->except, ms->row.status)))
		return false;
	if ((ends->before && memcmp(ms->key.b, ends->before->b, AR_STORE_KEY) >= 0) ||
	    (ends->above && memcmp(ms->key.b, ends->above->b, AR_STORE_KEY) <= 0))
		return false;
	return matches_filter(op->tenant, ms->row.tenant) &&
	       matches_filter(op->workspace, ms->row.workspace) &&
	       matches_filter(op->account, ms->row.account) && matches_filter(op->status, ms->row.status);
}

static int newest_first(const void *a, const void *b)
{
	const struct ar_memory_session *const *x = a, *const *y = b;

	return memcmp((*y)->key.b, (*x)->key.b, AR_STORE_KEY);
}

static void list_from(struct ar_store_sessions *op, const struct ar_memory_session **found, size_t count)
{
	struct ar_arena *a = &op->op.arena;

	op->more = count > op->limit;
	op->count = op->more ? op->limit : count;
	op->ids = ar_arena_alloc(a, (op->count + 1) * sizeof *op->ids);
	op->shells = ar_arena_alloc(a, (op->count + 1) * sizeof *op->shells);
	for (size_t i = 0; i < op->count; i++) {
		op->ids[i] = ar_store_key_text(a, &found[i]->key);
		op->shells[i] = ar_arena_str(a, found[i]->row.shell);
	}
}

static enum ar_status list_sessions(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_sessions *op = AR_CONTAINER_OF(base, struct ar_store_sessions, op);
	const struct ar_memory_session **found, *ms;
	struct ar_store_key before, above;
	struct ends ends = { ar_str_absent(op->before) ? NULL : &before,
			     ar_str_absent(op->above) ? NULL : &above };
	size_t count = 0;

	op->ids = op->shells = NULL;
	op->count = 0;
	op->more = false;
	if (ends.before && !ar_store_key_parse(op->before, &before))
		return ar_store_fail_key(&base->err, op->before);
	if (ends.above && !ar_store_key_parse(op->above, &above))
		return ar_store_fail_key(&base->err, op->above);
	found = ar_new0((m->sessions.count + 1) * sizeof(struct ar_memory_session *));
	for (size_t i = 0; (ms = ar_map_next(&m->sessions, &i));) {
		if (is_listed(ms, op, &ends))
			found[count++] = ms;
	}
	qsort(found, count, sizeof(struct ar_memory_session *), newest_first);
	list_from(op, found, count);
	ar_free(found);
	return AR_OK;
}

static void add_task(struct ar_store_tasks *op, const struct ar_store_task_row *t)
{
	struct ar_arena *a = &op->op.arena;

	op->rows = ar_store_extend(a, op->rows, op->count, sizeof *op->rows);
	op->rows[op->count++] = (struct ar_store_task_row){ .task = ar_arena_str(a, t->task),
							    .status = ar_arena_str(a, t->status),
							    .record = ar_arena_str(a, t->record),
							    .is_internal = t->is_internal };
}

static enum ar_status get_task(struct ar_store_tasks *op, const struct ar_memory_session *ms)
{
	for (size_t i = 0; ms && i < ms->task_count; i++) {
		if (!ar_str_eq(ms->tasks[i].task, op->task))
			continue;
		add_task(op, &ms->tasks[i]);
		return AR_OK;
	}
	return ar_store_fail_no_task(&op->op.err, op->task);
}

static bool is_left_out(struct ar_str except, struct ar_str status)
{
	struct ar_str rest = except, word;

	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, ',', &word);
		if (!ar_str_empty(word) && ar_str_eq(word, status))
			return true;
	}
	return false;
}

static void walk_tasks(struct ar_store_tasks *op, const struct ar_memory_session *ms)
{
	uint64_t last = op->after;

	for (uint64_t n = op->after + 1; n <= ms->task_count; n++) {
		const struct ar_store_task_row *t = &ms->tasks[n - 1];

		if (!matches_filter(op->status, t->status) || t->is_internal > op->with_internal ||
		    is_left_out(op->except, t->status))
			continue;
		if (op->count == op->limit) {
			op->next = last;
			return;
		}
		add_task(op, t);
		last = n;
	}
}

static enum ar_status list_tasks(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_tasks *op = AR_CONTAINER_OF(base, struct ar_store_tasks, op);
	const struct ar_memory_session *ms = NULL;
	struct ar_store_key key;

	op->rows = NULL;
	op->count = 0;
	op->next = 0;
	if (ar_store_key_parse(op->session, &key))
		ms = ar_memory_session(m, &key);
	if (!ar_str_absent(op->task))
		return get_task(op, ms);
	if (ms && op->after < ms->task_count)
		walk_tasks(op, ms);
	return AR_OK;
}

static enum ar_status get_index(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_index *op = AR_CONTAINER_OF(base, struct ar_store_index, op);
	const struct ar_memory_session *ms = NULL;
	struct ar_arena *a = &base->arena;
	struct ar_store_key key;

	if (ar_store_key_parse(op->session, &key))
		ms = ar_memory_session(m, &key);
	op->has_row = ms && ms->has_row;
	op->row = op->has_row ? ms->row : (struct ar_store_session_row){ 0 };
	op->row.tenant = ar_arena_str(a, op->row.tenant);
	op->row.workspace = ar_arena_str(a, op->row.workspace);
	op->row.account = ar_arena_str(a, op->row.account);
	op->row.status = ar_arena_str(a, op->row.status);
	op->row.shell = ar_arena_str(a, op->row.shell);
	op->has_snapshot = ms && !ar_str_absent(ms->snapshot);
	op->snapshot = op->has_snapshot ? ar_arena_str(a, ms->snapshot) : AR_STR_NONE;
	op->snapshot_seq = op->has_snapshot ? ms->snapshot_seq : 0;
	return AR_OK;
}

static enum ar_status get_tenant(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_tenant *op = AR_CONTAINER_OF(base, struct ar_store_tenant, op);
	const struct ar_memory_session *ms = find_session(m, op->session);

	op->tenant = AR_STR_NONE;
	if (ms)
		op->tenant = ar_arena_str(&base->arena, ar_store_tenant_of(ms->row.tenant));
	return AR_OK;
}

static enum ar_status (*const reads[AR_STORE_OP_COUNT])(struct ar_memory *m, struct ar_store_op *op) = {
	[AR_STORE_LOAD] = load,
	[AR_STORE_READ] = read_log,
	[AR_STORE_RECEIPT] = get_receipt,
	[AR_STORE_BLOBS] = get_blobs,
	[AR_STORE_SESSIONS] = list_sessions,
	[AR_STORE_TASKS] = list_tasks,
	[AR_STORE_INDEX] = get_index,
	[AR_STORE_TENANT] = get_tenant,
	[AR_STORE_ACTIONS] = ar_memory_actions,
	[AR_STORE_ITEMS] = ar_memory_items,
	[AR_STORE_TOKENS] = ar_memory_tokens,
	[AR_STORE_FEED] = ar_memory_feed,
	[AR_STORE_AUDIT_LIST] = ar_memory_audit_list,
	[AR_STORE_AUDIT_VERIFY] = ar_memory_audit_verify,
	[AR_STORE_DUE] = ar_memory_due,
	[AR_STORE_USAGE] = ar_memory_usage,
};

enum ar_status ar_memory_read(struct ar_memory *m, struct ar_store_op *op)
{
	return reads[op->kind](m, op);
}
