/* Upkeep of the memory store: the same rules as the engines, over all sessions at once. Its clock is the
 * caller's: content is doomed at `before`, the youngest time that a removed session can have. */
#include "memory.h"

#include "mem.h"
#include "store_upkeep.h"

static struct ar_str hash_bytes(const struct ar_hash *h)
{
	return (struct ar_str){ (const char *)h->b, sizeof h->b };
}

static void drop_refs(struct ar_memory *m, const struct ar_memory_session *ms, ar_usec at)
{
	for (size_t i = 0; i < ms->ref_count; i++) {
		struct ar_memory_blob *b = ar_map_get(&m->blobs, hash_bytes(&ms->refs[i]));

		b->refs--;
		b->doomed = at;
	}
}

static struct ar_memory_session *find_old(const struct ar_memory *m, const struct ar_store_upkeep *op)
{
	struct ar_memory_session *ms;

	for (size_t i = 0; (ms = ar_map_next(&m->sessions, &i));) {
		if (ms->has_row && ar_store_walk_includes(op, &ms->key, ms->row.active, ms->row.updated))
			return ms;
	}
	return NULL;
}

static struct ar_memory_receipt *find_old_receipt(const struct ar_memory *m, ar_usec before)
{
	struct ar_memory_receipt *r;

	for (size_t i = 0; (r = ar_map_next(&m->receipts, &i));) {
		if (r->created < before)
			return r;
	}
	return NULL;
}

static struct ar_memory_blob *find_garbage(const struct ar_memory *m, ar_usec before)
{
	struct ar_memory_blob *b;

	for (size_t i = 0; (b = ar_map_next(&m->blobs, &i));) {
		if (!b->refs && b->doomed < before)
			return b;
	}
	return NULL;
}

static void remove_session(struct ar_memory *m, struct ar_memory_session *ms, struct ar_store_upkeep *op)
{
	drop_refs(m, ms, op->before);
	ar_memory_raise_floor(m, ms);
	ar_store_upkeep_removed(op, &ms->key);
	ar_map_del(&m->sessions, ar_store_key_bytes(&ms->key));
	ar_memory_session_free(ms);
}

static void remove_litter(struct ar_memory *m, struct ar_store_upkeep *op)
{
	size_t room = op->limit * AR_STORE_LITTER;
	struct ar_memory_receipt *r;
	struct ar_memory_blob *b;

	for (; op->receipts < room && (r = find_old_receipt(m, op->before)); op->receipts++) {
		ar_map_del(&m->receipts, r->name);
		ar_memory_receipt_free(r);
	}
	ar_memory_audit_prune(m, op, room);
	ar_memory_usage_prune(m, op, room);
	for (; op->contents < room && (b = find_garbage(m, op->doomed_before)); op->contents++) {
		ar_map_del(&m->blobs, hash_bytes(&b->b.hash));
		ar_memory_blob_free(b);
	}
}

enum ar_status ar_memory_upkeep(struct ar_memory *m, struct ar_store_upkeep *op)
{
	struct ar_memory_session *ms;
	struct ar_store_walk w;
	enum ar_status st = ar_store_walk_start(op, op->before, &w);

	if (st)
		return st;
	while (!w.is_empty && op->removed < op->limit && (ms = find_old(m, op)))
		remove_session(m, ms, op);
	if (op->limit)
		remove_litter(m, op);
	op->more = op->limit &&
		   (find_old(m, op) || find_old_receipt(m, op->before) || find_garbage(m, op->doomed_before));
	return AR_OK;
}
