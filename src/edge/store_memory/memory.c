/* A store without a disk, for tests and simulation: the same rules as the engines, done in poll() in the
 * order of submission. Here: the writes, the crash, the life of the store. Reads are in memory_read.c. */
#include "memory.h"

#include "mem.h"

#include <string.h>

static struct ar_memory *memory_of(struct ar_store *s)
{
	return AR_CONTAINER_OF(s, struct ar_memory, store);
}

static struct ar_store_op *op_of(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct ar_store_op, node);
}

static void drop(struct ar_str s)
{
	ar_free((void *)s.p);
}

static struct ar_str dup_str(struct ar_str s)
{
	return (struct ar_str){ ar_str_dup(s), s.len };
}

static void replace(struct ar_str *slot, struct ar_str s)
{
	drop(*slot);
	*slot = dup_str(s);
}

struct ar_memory_session *ar_memory_session(const struct ar_memory *m, const struct ar_store_key *key)
{
	return ar_map_get(&m->sessions, ar_store_key_bytes(key));
}

uint64_t ar_memory_head(const struct ar_memory_session *ms)
{
	return ms && ms->row_count ? ms->rows[ms->row_count - 1].last_seq : 0;
}

static struct ar_memory_session *ensure_session(struct ar_memory *m, const struct ar_store_key *key)
{
	struct ar_memory_session *ms = ar_memory_session(m, key);

	if (ms)
		return ms;
	ms = ar_new0(sizeof *ms);
	ms->key = *key;
	ar_map_put(&m->sessions, ar_store_key_bytes(&ms->key), ms);
	return ms;
}

static struct ar_str receipt_name(struct ar_arena *a, struct ar_str scope, struct ar_str key)
{
	size_t len = scope.len + 1 + key.len;
	char *p = ar_arena_alloc(a, len + 1);

	memcpy(p, scope.p, scope.len);
	memcpy(p + scope.len + 1, key.p, key.len);
	return (struct ar_str){ p, len };
}

enum ar_status ar_memory_receipt_find(const struct ar_memory *m, struct ar_str scope, struct ar_str key,
				      struct ar_arena *a, struct ar_store_receipt *ret)
{
	const struct ar_memory_receipt *r = NULL;
	struct ar_arena scratch = { 0 };

	if (!ar_str_absent(scope) && !ar_str_absent(key))
		r = ar_map_get(&m->receipts, receipt_name(&scratch, scope, key));
	ar_arena_fini(&scratch);
	if (!r)
		return AR_E_NOT_FOUND;
	ret->scope = ar_arena_str(a, r->r.scope);
	ret->key = ar_arena_str(a, r->r.key);
	ret->input = r->r.input;
	ret->reply = ar_arena_str(a, r->r.reply);
	return AR_OK;
}

static void put_receipt(struct ar_memory *m, const struct ar_store_receipt *r, ar_usec at)
{
	struct ar_memory_receipt *kept = ar_new0(sizeof *kept);
	struct ar_arena a = { 0 };

	kept->name = dup_str(receipt_name(&a, r->scope, r->key));
	kept->r.scope = dup_str(r->scope);
	kept->r.key = dup_str(r->key);
	kept->r.input = r->input;
	kept->r.reply = dup_str(r->reply);
	kept->created = at;
	ar_map_put(&m->receipts, kept->name, kept);
	ar_arena_fini(&a);
}

static struct ar_str hash_bytes(const struct ar_hash *h)
{
	return (struct ar_str){ (const char *)h->b, sizeof h->b };
}

bool ar_memory_has_ref(const struct ar_memory_session *ms, const struct ar_hash *hash)
{
	for (size_t i = 0; i < ms->ref_count; i++) {
		if (memcmp(ms->refs[i].b, hash->b, sizeof hash->b) == 0)
			return true;
	}
	return false;
}

static void put_blob(struct ar_memory *m, struct ar_memory_session *ms, const struct ar_store_blob *b)
{
	struct ar_memory_blob *kept = ar_map_get(&m->blobs, hash_bytes(&b->hash));

	if (!kept) {
		kept = ar_new0(sizeof *kept);
		kept->b = (struct ar_store_blob){ b->hash, dup_str(b->bytes) };
		ar_map_put(&m->blobs, hash_bytes(&kept->b.hash), kept);
	}
	if (ar_memory_has_ref(ms, &b->hash))
		return;
	ms->refs = ar_grow(ms->refs, ms->ref_count + 1, sizeof *ms->refs);
	ms->refs[ms->ref_count++] = b->hash;
	kept->refs++;
}

static void remove_content(struct ar_memory *m, struct ar_memory_session *ms, const struct ar_hash *hash)
{
	struct ar_memory_blob *kept = ar_map_get(&m->blobs, hash_bytes(hash));

	for (size_t i = 0; kept && i < ms->ref_count; i++) {
		if (memcmp(ms->refs[i].b, hash->b, sizeof hash->b) != 0)
			continue;
		ms->refs[i] = ms->refs[--ms->ref_count];
		kept->refs--;
		kept->doomed = 0;
		return;
	}
}

static void put_blobs(struct ar_memory *m, struct ar_memory_session *ms, const struct ar_store_append *a)
{
	for (size_t i = 0; i < a->blob_count; i++)
		put_blob(m, ms, &a->blobs[i]);
}

static void put_facts(struct ar_memory *m, struct ar_memory_session *ms, const struct ar_store_append *a)
{
	if (a->last_seq < a->first_seq)
		return;
	ms->rows = ar_grow(ms->rows, ms->row_count + 1, sizeof *ms->rows);
	ms->positions = ar_grow(ms->positions, ms->row_count + 1, sizeof *ms->positions);
	ms->positions[ms->row_count] = a->row ? ++m->position : 0;
	ms->rows[ms->row_count++] =
		(struct ar_store_row){ a->first_seq, a->last_seq, a->at, dup_str(a->body) };
}

static void put_row(struct ar_memory_session *ms, const struct ar_store_session_row *row)
{
	struct ar_store_session_row *kept = &ms->row;

	if (!row)
		return;
	ms->has_row = true;
	kept->active = row->active;
	kept->created = row->created;
	kept->updated = row->updated;
	kept->due = row->due;
	kept->open = row->open;
	replace(&kept->tenant, ar_store_tenant_of(row->tenant));
	replace(&kept->workspace, row->workspace);
	replace(&kept->account, row->account);
	replace(&kept->status, row->status);
	replace(&kept->shell, row->shell);
}

static struct ar_store_task_row *ensure_task(struct ar_memory_session *ms, struct ar_str task)
{
	for (size_t i = 0; i < ms->task_count; i++) {
		if (ar_str_eq(ms->tasks[i].task, task))
			return &ms->tasks[i];
	}
	ms->tasks = ar_grow(ms->tasks, ms->task_count + 1, sizeof *ms->tasks);
	ms->tasks[ms->task_count] = (struct ar_store_task_row){ .task = dup_str(task) };
	return &ms->tasks[ms->task_count++];
}

static void put_tasks(struct ar_memory_session *ms, const struct ar_store_append *a)
{
	for (size_t i = 0; i < a->task_count; i++) {
		struct ar_store_task_row *kept = ensure_task(ms, a->tasks[i].task);

		replace(&kept->status, a->tasks[i].status);
		replace(&kept->record, a->tasks[i].record);
		kept->is_internal = a->tasks[i].is_internal;
	}
}

static void drop_chunk(struct ar_store_chunk_row *c)
{
	drop(c->step);
	drop(c->bytes);
}

static void drop_step(struct ar_memory_session *ms, struct ar_str step)
{
	size_t left = 0;

	for (size_t i = 0; i < ms->chunk_count; i++) {
		if (ar_str_eq(ms->chunks[i].step, step))
			drop_chunk(&ms->chunks[i]);
		else
			ms->chunks[left++] = ms->chunks[i];
	}
	ms->chunk_count = left;
}

static void put_snapshot(struct ar_memory_session *ms, const struct ar_store_append *a)
{
	if (ar_str_absent(a->snapshot))
		return;
	replace(&ms->snapshot, a->snapshot);
	ms->snapshot_seq = a->last_seq;
}

static enum ar_status admit(struct ar_memory *m, struct ar_store_append *a, const struct ar_store_key *key)
{
	const struct ar_store_receipt *r = a->receipt;
	uint64_t head = ar_memory_head(ar_memory_session(m, key));

	if (r && !ar_memory_receipt_find(m, r->scope, r->key, &a->op.arena, &a->found))
		return ar_store_fail_exists(&a->op.err, r->scope, r->key);
	return a->first_seq == head + 1 ? AR_OK : ar_store_fail_gap(&a->op.err, a->first_seq, head);
}

static enum ar_status append(struct ar_memory *m, struct ar_store_append *a)
{
	struct ar_store_key key;
	struct ar_memory_session *ms;
	enum ar_status st = ar_store_check_append(a, &key, &a->op.err);

	st = st ? st : admit(m, a, &key);
	if (st)
		return st;
	ms = ensure_session(m, &key);
	put_facts(m, ms, a);
	put_row(ms, a->row);
	put_tasks(ms, a);
	ar_memory_put_actions(ms, a);
	ar_memory_put_items(ms, a);
	ar_memory_add_usage(m, a);
	for (size_t i = 0; i < a->removed_count; i++)
		remove_content(m, ms, &a->removed[i]);
	put_blobs(m, ms, a);
	for (size_t i = 0; i < a->closed_step_count; i++)
		drop_step(ms, a->closed_steps[i]);
	put_snapshot(ms, a);
	if (a->receipt)
		put_receipt(m, a->receipt, a->at);
	if (a->audit)
		ar_memory_audit_add(m, a->audit);
	return AR_OK;
}

static int chunk_order(const struct ar_store_chunk_row *row, const struct ar_store_chunk *c)
{
	int by_step = ar_str_cmp(row->step, c->step);

	if (by_step)
		return by_step;
	return row->pos < c->pos ? -1 : row->pos > c->pos;
}

static struct ar_store_chunk_row *ensure_chunk(struct ar_memory_session *ms, const struct ar_store_chunk *c)
{
	size_t at = 0;

	while (at < ms->chunk_count && chunk_order(&ms->chunks[at], c) < 0)
		at++;
	if (at < ms->chunk_count && chunk_order(&ms->chunks[at], c) == 0)
		return &ms->chunks[at];
	ms->chunks = ar_grow(ms->chunks, ms->chunk_count + 1, sizeof *ms->chunks);
	memmove(&ms->chunks[at + 1], &ms->chunks[at], (ms->chunk_count - at) * sizeof *ms->chunks);
	ms->chunk_count++;
	ms->chunks[at] = (struct ar_store_chunk_row){ .step = dup_str(c->step), .pos = c->pos };
	return &ms->chunks[at];
}

static enum ar_status put_chunk(struct ar_memory *m, struct ar_store_chunk *c)
{
	struct ar_store_key key;
	struct ar_store_chunk_row *row;
	enum ar_status st = ar_store_check_chunk(c, &key, &c->op.err);

	if (st)
		return st;
	row = ensure_chunk(ensure_session(m, &key), c);
	row->kind = c->kind;
	row->index = c->index;
	replace(&row->bytes, c->bytes);
	return AR_OK;
}

static enum ar_status execute(struct ar_memory *m, struct ar_store_op *op)
{
	if (!ar_store_op_is_write(op))
		return ar_memory_read(m, op);
	if (m->stored_epoch != m->store.epoch)
		return ar_store_fail_fenced(&op->err, m->store.epoch);
	if (op->kind == AR_STORE_UPKEEP)
		return ar_memory_upkeep(m, AR_CONTAINER_OF(op, struct ar_store_upkeep, op));
	if (op->kind == AR_STORE_TOKEN_PUT)
		return ar_memory_token_put(m, AR_CONTAINER_OF(op, struct ar_store_token_put, op));
	if (op->kind == AR_STORE_AUDIT_PUT)
		return ar_memory_audit_put(m, AR_CONTAINER_OF(op, struct ar_store_audit_put, op));
	if (op->kind == AR_STORE_CHUNK)
		return put_chunk(m, AR_CONTAINER_OF(op, struct ar_store_chunk, op));
	return append(m, AR_CONTAINER_OF(op, struct ar_store_append, op));
}

static void memory_submit(struct ar_store *s, struct ar_store_op *op)
{
	struct ar_memory *m = memory_of(s);
	bool first = ar_list_empty(&m->pending);

	AR_ASSERT(op->kind > 0 && op->kind < AR_STORE_OP_COUNT);
	op->status = AR_OK;
	op->err = (struct ar_error){ 0 };
	ar_list_push(&m->pending, &op->node);
	if (first && m->wake)
		m->wake(m->wake_arg);
}

/* Serves what waits now; what done() submits waits for the next poll. Popped one by one from the list that
 * crash empties, so that a done() may crash the store. */
static void memory_poll(struct ar_store *s)
{
	struct ar_memory *m = memory_of(s);
	struct ar_list *node;
	size_t count = 0;

	AR_LIST_FOR (it, &m->pending)
		count++;
	while (count-- && (node = ar_list_pop(&m->pending))) {
		op_of(node)->status = execute(m, op_of(node));
		op_of(node)->done(op_of(node));
	}
	if (!ar_list_empty(&m->pending) && m->wake)
		m->wake(m->wake_arg);
}

void ar_memory_session_free(struct ar_memory_session *ms)
{
	for (size_t i = 0; i < ms->row_count; i++)
		drop(ms->rows[i].body);
	for (size_t i = 0; i < ms->task_count; i++) {
		drop(ms->tasks[i].task);
		drop(ms->tasks[i].status);
		drop(ms->tasks[i].record);
	}
	ar_memory_drop_actions(ms);
	ar_memory_drop_items(ms);
	for (size_t i = 0; i < ms->chunk_count; i++)
		drop_chunk(&ms->chunks[i]);
	put_row(ms, &(struct ar_store_session_row){ 0 }); /* replaces all other text by nothing */
	drop(ms->row.tenant);
	drop(ms->snapshot);
	ar_free(ms->rows);
	ar_free(ms->positions);
	ar_free(ms->tasks);
	ar_free(ms->chunks);
	ar_free(ms->refs);
	ar_free(ms);
}

void ar_memory_receipt_free(struct ar_memory_receipt *r)
{
	drop(r->name);
	drop(r->r.scope);
	drop(r->r.key);
	drop(r->r.reply);
	ar_free(r);
}

void ar_memory_blob_free(struct ar_memory_blob *b)
{
	drop(b->b.bytes);
	ar_free(b);
}

static void free_all(struct ar_memory *m)
{
	struct ar_memory_session *ms;
	struct ar_memory_receipt *r;
	struct ar_memory_blob *b;

	for (size_t i = 0; (ms = ar_map_next(&m->sessions, &i));)
		ar_memory_session_free(ms);
	for (size_t i = 0; (b = ar_map_next(&m->blobs, &i));)
		ar_memory_blob_free(b);
	for (size_t i = 0; (r = ar_map_next(&m->receipts, &i));)
		ar_memory_receipt_free(r);
	ar_map_fini(&m->sessions);
	ar_map_fini(&m->blobs);
	ar_map_fini(&m->receipts);
	ar_memory_drop_tokens(m);
	ar_memory_drop_audits(m);
	ar_memory_drop_usage(m);
	ar_memory_drop_floors(m);
}

static void memory_close(struct ar_store *s)
{
	struct ar_memory *m = memory_of(s);

	m->wake = NULL;
	while (!ar_list_empty(&m->pending))
		memory_poll(s);
	free_all(m);
	ar_free(m);
}

static const struct ar_store_vtable memory_vtable = {
	.submit = memory_submit,
	.poll = memory_poll,
	.close = memory_close,
};

void ar_store_memory_open(ar_store_wake_fn *wake, void *wake_arg, struct ar_store **ret)
{
	struct ar_memory *m = ar_new0(sizeof *m);

	m->store.v = &memory_vtable;
	m->store.epoch = m->stored_epoch = 1;
	memcpy(m->store.runtime_id, "rt_", 3);
	ar_id_mint(m->store.runtime_id + 3);
	m->wake = wake;
	m->wake_arg = wake_arg;
	ar_list_init(&m->pending);
	*ret = &m->store;
}

/* Per session, because an engine with several writers promises no more than that. */
void ar_store_memory_crash(struct ar_store *s, uint64_t seed)
{
	struct ar_memory *m = memory_of(s);
	struct ar_map cut = { 0 }; /* sessions whose prefix has ended */
	struct ar_list *node;

	while ((node = ar_list_pop(&m->pending))) {
		struct ar_store_op *op = op_of(node);
		struct ar_str session = ar_store_op_session(op);

		if (!ar_store_op_is_write(op) || (session.p && ar_map_get(&cut, session)))
			continue;
		if (ar_store_random(&seed) & 1)
			execute(m, op);
		else if (session.p)
			ar_map_put(&cut, session, op);
	}
	ar_map_fini(&cut);
	m->store.epoch = ++m->stored_epoch;
}

void ar_store_memory_fence(struct ar_store *s)
{
	memory_of(s)->stored_epoch++;
}
