/* The newest receipts of this process. The store has all of them; this only spares most
 * repeats the way there. */
#include "engine_priv.h"

#include <string.h>

static struct ar_str cache_key(struct ar_arena *a, const struct ar_store_receipt *r)
{
	return ar_arena_fmt(a, "%.*s%c%.*s", AR_STR_ARG(r->scope), 0, AR_STR_ARG(r->key));
}

const struct ar_receipt_cache_entry *ar_receipts_find(struct ar_engine *e, const struct ar_store_receipt *r)
{
	struct ar_arena a = { 0 };
	const struct ar_receipt_cache_entry *entry = ar_map_get(&e->receipts, cache_key(&a, r));

	ar_arena_fini(&a);
	return entry;
}

static void drop(struct ar_engine *e, struct ar_receipt_cache_entry *entry)
{
	if (!entry->scope_key)
		return;
	ar_map_del(&e->receipts, (struct ar_str){ entry->scope_key, entry->len });
	ar_free(entry->scope_key);
	ar_free(entry->reply);
	*entry = (struct ar_receipt_cache_entry){ 0 };
}

void ar_receipts_keep(struct ar_engine *e, const struct ar_store_receipt *r)
{
	struct ar_receipt_cache_entry *entry = &e->receipt_ring[e->receipt_next++ % AR_RECEIPT_CACHE];
	struct ar_arena a = { 0 };
	struct ar_str key = cache_key(&a, r);

	drop(e, entry);
	entry->scope_key = ar_str_dup(key);
	entry->len = key.len;
	entry->input = r->input;
	entry->reply = ar_str_dup(r->reply);
	ar_map_put(&e->receipts, (struct ar_str){ entry->scope_key, entry->len }, entry);
	ar_arena_fini(&a);
}

void ar_receipts_fini(struct ar_engine *e)
{
	for (size_t i = 0; i < AR_RECEIPT_CACHE; i++)
		drop(e, &e->receipt_ring[i]);
	ar_map_fini(&e->receipts);
}

/* The same input gets the first answer; another input under the same id is a conflict. */
void ar_request_repeat(struct ar_engine_request *r, const struct ar_hash *input, struct ar_str reply)
{
	if (memcmp(input, &r->receipt.input, sizeof(*input)) != 0) {
		ar_refuse(&r->err, AR_ERR_ID_CONFLICT,
			  "%.*s was used before with another input; use a new id",
			  AR_STR_ARG(r->receipt.key));
		ar_request_finish(r, AR_E_REFUSED);
		return;
	}
	r->reply = reply;
	ar_request_finish(r, AR_OK);
}
