/* See the header. */
#include "row_sum.h"

struct ar_row_sum ar_row_sum_of_facts(const struct ar_store_key *key, uint64_t first_seq, uint64_t last_seq)
{
	struct ar_row_sum p = ar_row_sum("log", ar_store_key_bytes(key));

	ar_row_sum_number(&p, first_seq);
	ar_row_sum_number(&p, last_seq);
	return p;
}

struct ar_row_sum ar_row_sum_of_snapshot(const struct ar_store_key *key, uint64_t seq)
{
	struct ar_row_sum p = ar_row_sum("snapshot", ar_store_key_bytes(key));

	ar_row_sum_number(&p, seq);
	return p;
}

struct ar_row_sum ar_row_sum_of_receipt(const struct ar_store_receipt *r)
{
	struct ar_row_sum p = ar_row_sum("receipt", r->scope);

	ar_row_sum_text(&p, r->key);
	ar_row_sum_text(&p, (struct ar_str){ (const char *)r->input.b, AR_HASH_LEN });
	return p;
}

struct ar_row_sum ar_row_sum_of_task(const struct ar_store_task_row *row)
{
	struct ar_row_sum p = ar_row_sum("task", row->task);

	ar_row_sum_text(&p, row->status);
	ar_row_sum_number(&p, row->is_internal);
	return p;
}

struct ar_row_sum ar_row_sum_of_action(const struct ar_store_action_row *row)
{
	struct ar_row_sum p = ar_row_sum("action", row->action);

	ar_row_sum_text(&p, ar_store_tenant_of(row->tenant));
	ar_row_sum_text(&p, row->account);
	ar_row_sum_number(&p, (uint64_t)row->created);
	ar_row_sum_number(&p, row->is_pending);
	return p;
}

struct ar_row_sum ar_row_sum_of_item(const struct ar_store_key *key, const struct ar_store_item_row *row)
{
	struct ar_row_sum p = ar_row_sum("item", ar_store_key_bytes(key));

	ar_row_sum_number(&p, row->list);
	ar_row_sum_number(&p, row->number);
	return p;
}
