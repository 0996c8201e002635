/* See the header. */
#include "pg_batch.h"

#include <string.h>

#define COLUMN_KEPT (4u << 20) /* bytes of memory of a column that the next batch finds again */

static struct ar_str join_key(struct ar_arena *a, struct ar_str left, struct ar_str right)
{
	char *p = ar_arena_alloc(a, left.len + right.len + 1);

	memcpy(p, left.p, left.len);
	if (right.len)
		memcpy(p + left.len, right.p, right.len);
	return (struct ar_str){ p, left.len + right.len };
}

/* The row of that name, made at its first mention. `name` must live as long as the batch. */
static struct ar_pg_row *row_named(struct ar_pg_batch *b, enum ar_pg_table table, struct ar_str name)
{
	struct ar_pg_rows *rows = &b->rows[table];
	struct ar_pg_row *row = ar_map_get(&rows->by_name, name);

	if (row)
		return row;
	row = ar_arena_alloc(&b->arena, sizeof *row);
	row->name = name;
	rows->list = ar_store_extend(&b->arena, rows->list, rows->count, sizeof(struct ar_pg_row *));
	rows->list[rows->count++] = row;
	row->n = (int64_t)rows->count;
	ar_map_put(&rows->by_name, name, row);
	return row;
}

/* The last one wins. */
static struct ar_pg_row *set_row(struct ar_pg_batch *b, enum ar_pg_table table, struct ar_str name,
				 const void *from)
{
	struct ar_pg_row *row = row_named(b, table, name);

	row->from = from;
	row->ahead = b->ahead;
	return row;
}

static void put_row(struct ar_pg_batch *b, enum ar_pg_table table, const struct ar_store_key *key,
		    struct ar_str inner, const void *from)
{
	set_row(b, table, join_key(&b->arena, ar_store_key_bytes(key), inner), from)->key = *key;
}

static struct ar_pg_row *put_dated(struct ar_pg_batch *b, enum ar_pg_table table, struct ar_str name,
				   const void *from, ar_usec at)
{
	struct ar_pg_row *row = set_row(b, table, name, from);

	row->n = at;
	return row;
}

/* The first to put it in this batch is named in its row, others refer to it. */
static void put_blob(struct ar_pg_batch *b, const struct ar_store_blob *blob, ar_usec at,
		     const struct ar_store_key *key)
{
	struct ar_str hash = { (const char *)blob->hash.b, AR_HASH_LEN };
	const struct ar_pg_row *row = ar_map_get(&b->rows[AR_PG_BLOB].by_name, hash);

	if (!row)
		put_dated(b, AR_PG_BLOB, hash, blob, at)->key = *key;
	else if (memcmp(&row->key, key, sizeof *key) != 0)
		put_row(b, AR_PG_REF, key, hash, blob);
}

static struct ar_str number_bytes(const uint64_t *v)
{
	return (struct ar_str){ (const char *)v, sizeof *v };
}

struct ar_str ar_pg_receipt_name(struct ar_pg_batch *b, struct ar_str scope, struct ar_str key)
{
	uint64_t len = scope.len;

	return join_key(&b->arena, join_key(&b->arena, number_bytes(&len), scope), key);
}

const struct ar_store_receipt *ar_pg_batch_receipt(const struct ar_pg_batch *b, struct ar_str name)
{
	const struct ar_pg_row *row = ar_map_get(&b->rows[AR_PG_RECEIPT].by_name, name);

	return row ? row->from : NULL;
}

static void drop_step(struct ar_pg_batch *b, const struct ar_store_key *key, const struct ar_str *step)
{
	struct ar_pg_rows *chunks = &b->rows[AR_PG_CHUNK];

	for (size_t i = 0; i < chunks->count; i++) {
		struct ar_pg_row *row = chunks->list[i];
		const struct ar_store_chunk *c = row->from;

		if (c && ar_str_eq(c->step, *step) && memcmp(&row->key, key, sizeof *key) == 0)
			row->from = NULL;
	}
	put_row(b, AR_PG_DROP, key, *step, step);
}

/* Each is a row of its own: the statement adds up those of one key. */
static void add_usage(struct ar_pg_batch *b, const struct ar_store_usage_row *row)
{
	uint64_t n = b->rows[AR_PG_USAGE].count;

	set_row(b, AR_PG_USAGE, ar_arena_str(&b->arena, number_bytes(&n)), row);
}

void ar_pg_batch_append(struct ar_pg_batch *b, const struct ar_store_append *a,
			const struct ar_store_key *key)
{
	uint64_t first = a->first_seq;

	b->ahead = a->ahead;
	if (a->last_seq >= a->first_seq)
		put_row(b, AR_PG_LOG, key, number_bytes(&first), a);
	if (a->row)
		put_row(b, AR_PG_SESSION, key, AR_STR(""), a->row);
	for (size_t i = 0; i < a->task_count; i++)
		put_row(b, AR_PG_TASK, key, a->tasks[i].task, &a->tasks[i]);
	for (size_t i = 0; i < a->action_count; i++)
		put_row(b, AR_PG_ACTION, key, a->actions[i].action, &a->actions[i]);
	for (size_t i = 0; i < a->item_count; i++) {
		uint64_t place[] = { a->items[i].list, a->items[i].number };

		put_row(b, AR_PG_ITEM, key, (struct ar_str){ (const char *)place, sizeof place },
			&a->items[i]);
	}
	if (a->receipt)
		put_dated(b, AR_PG_RECEIPT, ar_pg_receipt_name(b, a->receipt->scope, a->receipt->key),
			  a->receipt, a->at);
	for (size_t i = 0; i < a->blob_count; i++)
		put_blob(b, &a->blobs[i], a->at, key);
	for (size_t i = 0; i < a->removed_count; i++)
		put_row(b, AR_PG_REMOVED, key, (struct ar_str){ (const char *)a->removed[i].b, AR_HASH_LEN },
			&a->removed[i]);
	for (size_t i = 0; i < a->closed_step_count; i++)
		drop_step(b, key, &a->closed_steps[i]);
	if (!ar_str_absent(a->snapshot))
		put_row(b, AR_PG_SNAPSHOT, key, AR_STR(""), a);
	if (a->audit)
		ar_pg_batch_audit(b, a->audit);
	for (size_t i = 0; i < a->usage_count; i++)
		add_usage(b, &a->usage[i]);
}

void ar_pg_batch_audit(struct ar_pg_batch *b, const struct ar_store_audit *e)
{
	struct ar_pg_row *row;

	ar_audit_chain_add(&b->chain, e);
	row = set_row(b, AR_PG_AUDIT, ar_arena_str(&b->arena, number_bytes(&b->chain.n)), e);
	row->chain = b->chain;
}

void ar_pg_batch_chunk(struct ar_pg_batch *b, const struct ar_store_chunk *c, const struct ar_store_key *key)
{
	uint64_t pos = c->pos;

	b->ahead = NULL;
	put_row(b, AR_PG_CHUNK, key, join_key(&b->arena, number_bytes(&pos), c->step), c);
}

/* ---- rows as columns ---- */

struct encoder {
	struct ar_pg_array *next; /* column to fill */
	struct ar_packer *packer;
	const struct ar_pg_batch *batch;
};

static void add_bytes(struct encoder *e, struct ar_str v)
{
	ar_pg_array_bytes(e->next++, v);
}

static void add_packed(struct encoder *e, struct ar_str v)
{
	add_bytes(e, ar_pack(e->packer, v));
}

static void add_checksummed(struct encoder *e, struct ar_str v, struct ar_row_sum at)
{
	add_bytes(e, ar_pack_checksummed(e->packer, v, at));
}

static void add_i64(struct encoder *e, int64_t v)
{
	ar_pg_array_i64(e->next++, v);
}

static void add_u64(struct encoder *e, uint64_t v)
{
	ar_pg_array_i64(e->next++, (int64_t)v);
}

static void add_bool(struct encoder *e, bool v)
{
	ar_pg_array_bool(e->next++, v);
}

static void add_key(struct encoder *e, const struct ar_pg_row *row)
{
	add_bytes(e, ar_store_key_bytes(&row->key));
}

static void encode_log(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_store_append *a = row->from;

	add_key(e, row);
	add_u64(e, a->first_seq);
	add_u64(e, a->last_seq);
	add_i64(e, a->at);
	add_u64(e, a->body.len);
	add_checksummed(e, a->body, ar_row_sum_of_facts(&row->key, a->first_seq, a->last_seq));
	add_bytes(e, a->row ? ar_store_tenant_of(a->row->tenant) : AR_STR_NONE);
}

static void encode_session(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_store_session_row *s = row->from;

	add_key(e, row);
	add_i64(e, s->created);
	add_i64(e, s->updated);
	add_bool(e, s->active);
	add_bytes(e, s->workspace);
	add_bytes(e, s->account);
	add_bytes(e, s->status);
	add_bytes(e, ar_pack_raw(e->packer, s->shell));
	add_bytes(e, ar_store_tenant_of(s->tenant));
	add_i64(e, s->due);
	add_bool(e, s->open);
}

static void encode_task(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_store_task_row *t = row->from;

	add_key(e, row);
	add_i64(e, row->n);
	add_bytes(e, t->task);
	add_bytes(e, t->status);
	add_bool(e, t->is_internal);
	add_checksummed(e, t->record, ar_row_sum_of_task(t));
}

static void encode_action(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_store_action_row *action = row->from;

	add_key(e, row);
	add_i64(e, action->created);
	add_bytes(e, action->action);
	add_bytes(e, action->account);
	add_bytes(e, ar_store_tenant_of(action->tenant));
	add_bool(e, action->is_pending);
	add_checksummed(e, action->record, ar_row_sum_of_action(action));
}

static void encode_item(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_store_item_row *item = row->from;

	add_key(e, row);
	add_u64(e, item->list);
	add_u64(e, item->number);
	add_checksummed(e, item->record, ar_row_sum_of_item(&row->key, item));
}

static void encode_receipt(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_store_receipt *r = row->from;

	add_bytes(e, r->scope);
	add_bytes(e, r->key);
	add_bytes(e, (struct ar_str){ (const char *)r->input.b, AR_HASH_LEN });
	add_i64(e, row->n);
	add_checksummed(e, r->reply, ar_row_sum_of_receipt(r));
}

static void encode_blob(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_store_blob *blob = row->from;
	const struct ar_str *object = ar_map_get(&e->batch->objects, row->name);
	bool is_elsewhere = object || row->bytes.len > 0;

	add_bytes(e, row->name);
	add_u64(e, blob->bytes.len);
	add_i64(e, row->n);
	add_key(e, row);
	add_u64(e, (row->bytes.len + AR_PG_PART_BYTES - 1) / AR_PG_PART_BYTES);
	add_bytes(e, object ? *object : AR_STR_NONE);
	if (is_elsewhere)
		add_bytes(e, AR_STR(""));
	else
		add_packed(e, blob->bytes);
}

static void encode_part(struct encoder *e, const struct ar_pg_row *row)
{
	add_bytes(e, *(const struct ar_str *)row->from);
	add_i64(e, row->n);
	add_bytes(e, row->bytes);
}

static void encode_ref(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_store_blob *blob = row->from;

	add_key(e, row);
	add_bytes(e, (struct ar_str){ (const char *)blob->hash.b, AR_HASH_LEN });
}

static void encode_removed(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_hash *hash = row->from;

	add_key(e, row);
	add_bytes(e, (struct ar_str){ (const char *)hash->b, AR_HASH_LEN });
}

static void encode_drop(struct encoder *e, const struct ar_pg_row *row)
{
	add_key(e, row);
	add_bytes(e, *(const struct ar_str *)row->from);
}

static void encode_chunk(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_store_chunk *c = row->from;

	add_key(e, row);
	add_bytes(e, c->step);
	add_u64(e, c->pos);
	add_i64(e, c->kind);
	add_i64(e, c->index);
	add_bytes(e, c->bytes);
}

static void encode_snapshot(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_store_append *a = row->from;

	add_key(e, row);
	add_u64(e, a->last_seq);
	add_checksummed(e, a->snapshot, ar_row_sum_of_snapshot(&row->key, a->last_seq));
}

static void encode_audit(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_store_audit *entry = row->from;

	add_u64(e, row->chain.n);
	add_i64(e, entry->at);
	add_bytes(e, entry->tenant);
	add_bytes(e, entry->session);
	add_u64(e, entry->sequence);
	add_bytes(e, entry->record);
	add_bytes(e, (struct ar_str){ (const char *)row->chain.hash.b, AR_HASH_LEN });
}

static void add_name(struct encoder *e, struct ar_str name)
{
	add_bytes(e, ar_str_absent(name) ? AR_STR("") : name);
}

static void encode_usage(struct encoder *e, const struct ar_pg_row *row)
{
	const struct ar_store_usage_row *used = row->from;

	add_bytes(e, ar_store_tenant_of(used->tenant));
	add_i64(e, used->hour);
	add_name(e, used->currency);
	add_name(e, used->workspace);
	add_name(e, used->model);
	add_i64(e, used->requests);
	add_i64(e, used->input_tokens);
	add_i64(e, used->output_tokens);
	add_i64(e, used->cached_tokens);
	add_i64(e, used->cost);
}

#define U AR_PG_UUID
#define I AR_PG_INT8
#define B AR_PG_BYTEA
#define T AR_PG_BOOL

static const struct {
	enum ar_pg_id put;
	void (*encode)(struct encoder *e, const struct ar_pg_row *row);
	enum ar_pg_type types[AR_PG_COLUMNS];
} tables[AR_PG_TABLES] = {
	[AR_PG_LOG] = { AR_PG_LOG_PUT, encode_log, { U, I, I, I, I, B, B } },
	[AR_PG_SESSION] = { AR_PG_SESSION_PUT, encode_session, { U, I, I, T, B, B, B, B, B, I, T } },
	[AR_PG_TASK] = { AR_PG_TASK_PUT, encode_task, { U, I, B, B, T, B } },
	[AR_PG_ACTION] = { AR_PG_ACTION_PUT, encode_action, { U, I, B, B, B, T, B } },
	[AR_PG_ITEM] = { AR_PG_ITEM_PUT, encode_item, { U, I, I, B } },
	[AR_PG_RECEIPT] = { AR_PG_RECEIPT_PUT, encode_receipt, { B, B, B, I, B } },
	[AR_PG_BLOB] = { AR_PG_BLOB_PUT, encode_blob, { B, I, I, U, I, B, B } },
	[AR_PG_PART] = { AR_PG_PART_PUT, encode_part, { B, I, B } },
	[AR_PG_REMOVED] = { AR_PG_BLOB_REMOVE, encode_removed, { U, B } },
	[AR_PG_REF] = { AR_PG_REF_PUT, encode_ref, { U, B } },
	[AR_PG_DROP] = { AR_PG_CHUNK_DROP, encode_drop, { U, B } },
	[AR_PG_CHUNK] = { AR_PG_CHUNK_PUT, encode_chunk, { U, B, I, I, I, B } },
	[AR_PG_SNAPSHOT] = { AR_PG_SNAPSHOT_PUT, encode_snapshot, { U, I, B } },
	[AR_PG_AUDIT] = { AR_PG_AUDIT_PUT, encode_audit, { I, I, B, B, I, B, B } },
	[AR_PG_USAGE] = { AR_PG_USAGE_ADD, encode_usage, { B, I, B, B, B, I, I, I, I, I } },
};

static size_t encode_rows(struct ar_pg_batch *b, enum ar_pg_table table, struct ar_packer *packer)
{
	size_t count = 0;

	for (size_t i = 0; i < AR_PG_COLUMNS && tables[table].types[i]; i++)
		ar_pg_array_start(&b->columns[i], tables[table].types[i]);
	for (size_t i = 0; i < b->rows[table].count; i++) {
		struct encoder e = { b->columns, packer, b };

		if (!b->rows[table].list[i]->from)
			continue;
		ar_packer_look(packer, b->rows[table].list[i]->ahead);
		tables[table].encode(&e, b->rows[table].list[i]);
		count++;
	}
	return count;
}

static void add_part(struct ar_pg_batch *b, const struct ar_pg_row *blob, uint64_t n)
{
	struct ar_pg_row *part = row_named(b, AR_PG_PART, join_key(&b->arena, blob->name, number_bytes(&n)));
	size_t from = (size_t)(n - 1) * AR_PG_PART_BYTES;

	part->from = &blob->name;
	part->bytes = ar_str_sub(blob->bytes, from, AR_PG_PART_BYTES);
	part->n = (int64_t)n;
}

/* Large content that stays in the database is packed first of all: its row says how many parts there are. */
static void split_blobs(struct ar_pg_batch *b, struct ar_packer *packer)
{
	for (size_t i = 0; i < b->rows[AR_PG_BLOB].count; i++) {
		struct ar_pg_row *row = b->rows[AR_PG_BLOB].list[i];
		const struct ar_store_blob *blob = row->from;
		struct ar_str packed;

		if (blob->bytes.len <= AR_PG_PART_BYTES || ar_map_get(&b->objects, row->name))
			continue;
		ar_packer_look(packer, row->ahead);
		packed = ar_pack(packer, blob->bytes);
		if (packed.len <= AR_PG_PART_BYTES)
			continue;
		row->bytes = ar_arena_str(&b->arena, packed);
		for (uint64_t n = 1; (n - 1) * AR_PG_PART_BYTES < packed.len; n++)
			add_part(b, row, n);
	}
}

void ar_pg_batch_send(struct ar_pg_batch *b, struct ar_pg *pg, uint64_t epoch, uint64_t lane)
{
	split_blobs(b, pg->packer);
	for (enum ar_pg_table t = 0; t < AR_PG_TABLES; t++) {
		struct ar_pg_args args = { 0 };

		if (!encode_rows(b, t, pg->packer))
			continue;
		for (size_t i = 0; i < AR_PG_COLUMNS && tables[t].types[i]; i++)
			ar_pg_arg_array(&args, &b->columns[i]);
		if (t == AR_PG_LOG)
			ar_pg_arg_u64(&args, epoch);
		if (t == AR_PG_LOG || t == AR_PG_AUDIT || t == AR_PG_USAGE)
			ar_pg_arg_u64(&args, lane);
		ar_pg_send(pg, tables[t].put, &args);
	}
}

void ar_pg_batch_reset(struct ar_pg_batch *b)
{
	for (enum ar_pg_table t = 0; t < AR_PG_TABLES; t++) {
		ar_map_fini(&b->rows[t].by_name);
		b->rows[t] = (struct ar_pg_rows){ 0 };
	}
	ar_map_fini(&b->receipts);
	ar_arena_reset(&b->arena);
	for (size_t i = 0; i < AR_PG_COLUMNS; i++) { /* one big batch must not hold its memory for ever */
		if (b->columns[i].buf.room > COLUMN_KEPT)
			ar_pg_array_fini(&b->columns[i]);
	}
}

void ar_pg_batch_fini(struct ar_pg_batch *b)
{
	ar_pg_batch_reset(b);
	ar_map_fini(&b->objects);
	ar_arena_fini(&b->arena);
	for (size_t i = 0; i < AR_PG_COLUMNS; i++)
		ar_pg_array_fini(&b->columns[i]);
}
