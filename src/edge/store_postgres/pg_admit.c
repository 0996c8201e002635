/* Which operations of a batch may be written, decided before the first row is sent, so that a refused one
 * leaves the others as they are. Usually from memory alone: a wrong guess (the session is newer, the receipt
 * is there) runs into a primary key, and the batch is done again with a look at the database first. Writer
 * thread only. */
#include "postgres.h"

#include <string.h>

static struct ar_store_append *append_of(struct ar_list *node)
{
	struct ar_store_op *op = AR_CONTAINER_OF(node, struct ar_store_op, node);

	return op->kind == AR_STORE_APPEND ? AR_CONTAINER_OF(op, struct ar_store_append, op) : NULL;
}

/* ---- the look ---- */

static void send_look(struct ar_postgres *s, struct ar_list *ops)
{
	struct ar_pg_array *c = s->batch.columns;
	struct ar_pg_args heads = { 0 }, receipts = { 0 };

	ar_pg_array_start(&c[0], AR_PG_UUID);
	ar_pg_array_start(&c[1], AR_PG_BYTEA);
	ar_pg_array_start(&c[2], AR_PG_BYTEA);
	AR_LIST_FOR (it, ops) {
		struct ar_store_append *a = append_of(it);
		struct ar_store_key key;

		if (!a || ar_store_check_append(a, &key, NULL))
			continue;
		ar_pg_array_bytes(&c[0], ar_store_key_bytes(&key));
		if (!a->receipt)
			continue;
		ar_pg_array_bytes(&c[1], a->receipt->scope);
		ar_pg_array_bytes(&c[2], a->receipt->key);
	}
	ar_pg_arg_array(&heads, &c[0]);
	ar_pg_arg_array(&receipts, &c[1]);
	ar_pg_arg_array(&receipts, &c[2]);
	ar_pg_send(&s->writer, AR_PG_HEADS, &heads);
	ar_pg_send(&s->writer, AR_PG_RECEIPTS, &receipts);
	ar_pg_sync(&s->writer);
}

static void read_heads(struct ar_postgres *s, const PGresult *r)
{
	struct ar_store_key key;

	for (int i = 0; i < PQntuples(r); i++) {
		struct ar_str bytes = ar_pg_col_bytes(r, i, 0);

		AR_ASSERT(bytes.len == sizeof key.b);
		memcpy(key.b, bytes.p, sizeof key.b);
		ar_store_heads_put(&s->heads, &key, ar_pg_col_u64(r, i, 1));
	}
}

static void read_receipts(struct ar_pg_batch *b, const PGresult *r)
{
	for (int i = 0; i < PQntuples(r); i++) {
		struct ar_str scope = ar_pg_col_bytes(r, i, 0), key = ar_pg_col_bytes(r, i, 1);
		struct ar_str input = ar_pg_col_bytes(r, i, 2);
		struct ar_store_receipt *found = ar_arena_alloc(&b->arena, sizeof *found);

		if (input.len == AR_HASH_LEN) /* else its checksum does not fit either */
			memcpy(found->input.b, input.p, AR_HASH_LEN);
		found->reply = ar_pg_col_str(r, i, 3, &b->arena); /* still packed */
		ar_map_put(&b->receipts, ar_pg_receipt_name(b, scope, key), found);
	}
}

void ar_postgres_look(struct ar_postgres *s, struct ar_list *ops)
{
	PGresult *fence, *heads, *receipts;

	send_look(s, ops);
	fence = ar_pg_next(&s->writer);
	heads = ar_pg_next(&s->writer);
	receipts = ar_pg_next(&s->writer);
	ar_store_heads_clear(&s->heads);
	if (receipts) {
		read_heads(s, heads);
		read_receipts(&s->batch, receipts);
	}
	PQclear(fence);
	PQclear(heads);
	PQclear(receipts);
}

/* ---- the decision ---- */

static size_t weight(const struct ar_store_append *a)
{
	size_t sum = a->body.len + a->snapshot.len + (a->row ? a->row->shell.len : 0) +
		     (a->receipt ? a->receipt->reply.len : 0) + (a->audit ? a->audit->record.len : 0);

	for (size_t i = 0; i < a->task_count; i++)
		sum += a->tasks[i].record.len;
	for (size_t i = 0; i < a->action_count; i++)
		sum += a->actions[i].record.len;
	for (size_t i = 0; i < a->item_count; i++)
		sum += a->items[i].record.len;
	for (size_t i = 0; i < a->blob_count; i++)
		sum += a->blobs[i].bytes.len;
	return sum;
}

size_t ar_postgres_weight(const struct ar_store_op *op)
{
	if (op->kind == AR_STORE_CHUNK)
		return AR_CONTAINER_OF(op, struct ar_store_chunk, op)->bytes.len;
	if (op->kind == AR_STORE_AUDIT_PUT)
		return AR_CONTAINER_OF(op, struct ar_store_audit_put, op)->entry->record.len;
	return weight(AR_CONTAINER_OF(op, struct ar_store_append, op));
}

static void copy_receipt(struct ar_arena *a, const struct ar_store_receipt *from,
			 struct ar_store_receipt *ret)
{
	ret->scope = ar_arena_str(a, from->scope);
	ret->key = ar_arena_str(a, from->key);
	ret->input = from->input;
	ret->reply = ar_arena_str(a, from->reply);
}

/* AR_E_EXISTS with the receipt, whether the batch itself writes it or the database has it; AR_OK without. */
static enum ar_status check_receipt(struct ar_postgres *s, struct ar_store_append *a)
{
	struct ar_str name = ar_pg_receipt_name(&s->batch, a->receipt->scope, a->receipt->key);
	const struct ar_store_receipt *own = ar_pg_batch_receipt(&s->batch, name);
	const struct ar_store_receipt *stored = ar_map_get(&s->batch.receipts, name);
	enum ar_status st = AR_OK;

	if (!own && !stored)
		return AR_OK;
	if (own)
		copy_receipt(&a->op.arena, own, &a->found);
	else
		copy_receipt(&a->op.arena, a->receipt, &a->found);
	if (stored) {
		a->found.input = stored->input;
		st = ar_pg_unpack_checksummed(s->writer.packer, stored->reply,
					      ar_row_sum_of_receipt(&a->found), &a->op.arena, &a->found.reply,
					      &a->op.err);
	}
	return st ? st : ar_store_fail_exists(&a->op.err, a->receipt->scope, a->receipt->key);
}

/* Whether memory is enough to go by. An append without facts runs into no primary key, so it never is. */
static bool is_sure(const struct ar_postgres *s, const struct ar_store_append *a,
		    const struct ar_store_key *key)
{
	uint64_t head = 0;

	ar_store_heads_get(&s->heads, key, &head);
	return a->last_seq >= a->first_seq && a->first_seq == head + 1;
}

/* A known receipt wins over a wrong sequence: the repeated write is the same write, whatever came between. */
static enum ar_status admit_append(struct ar_postgres *s, struct ar_store_append *a,
				   const struct ar_store_key *key)
{
	enum ar_status st = a->receipt ? check_receipt(s, a) : AR_OK;
	uint64_t head = 0;

	if (st)
		return st;
	ar_store_heads_get(&s->heads, key, &head);
	if (a->first_seq != head + 1)
		return ar_store_fail_gap(&a->op.err, a->first_seq, head);
	ar_pg_batch_append(&s->batch, a, key);
	ar_store_heads_put(&s->heads, key, a->last_seq);
	return AR_OK;
}

static enum ar_status admit_chunk(struct ar_postgres *s, struct ar_store_chunk *c)
{
	struct ar_store_key key;
	enum ar_status st = ar_store_check_chunk(c, &key, &c->op.err);

	if (!st)
		ar_pg_batch_chunk(&s->batch, c, &key);
	return st;
}

static enum ar_status admit_audit(struct ar_postgres *s, struct ar_store_audit_put *p)
{
	enum ar_status st = ar_store_check_audit(p->entry, &p->op.err);

	if (!st)
		ar_pg_batch_audit(&s->batch, p->entry);
	return st;
}

/* What goes by no head. */
static enum ar_status admit_other(struct ar_postgres *s, struct ar_store_op *op)
{
	if (op->kind == AR_STORE_AUDIT_PUT)
		return admit_audit(s, AR_CONTAINER_OF(op, struct ar_store_audit_put, op));
	return admit_chunk(s, AR_CONTAINER_OF(op, struct ar_store_chunk, op));
}

static enum ar_status check_append(struct ar_store_append *a, struct ar_store_key *ret)
{
	enum ar_status st = ar_store_check_append(a, ret, &a->op.err);

	if (st || weight(a) <= AR_POSTGRES_APPEND_MAX)
		return st;
	return ar_fail(&a->op.err, AR_E_LIMIT, "an append of %zu bytes is over the store's limit of %u",
		       weight(a), AR_POSTGRES_APPEND_MAX);
}

bool ar_postgres_admit(struct ar_postgres *s, struct ar_list *ops, bool looked)
{
	AR_LIST_FOR (it, ops) {
		struct ar_store_op *op = AR_CONTAINER_OF(it, struct ar_store_op, node);
		struct ar_store_append *a = append_of(it);
		struct ar_store_key key;

		op->err = (struct ar_error){ 0 };
		op->status = a ? check_append(a, &key) : admit_other(s, op);
		if (!a || op->status)
			continue;
		if (!looked && !is_sure(s, a, &key))
			return false;
		op->status = admit_append(s, a, &key);
	}
	return true;
}
