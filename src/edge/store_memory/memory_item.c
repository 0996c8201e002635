/* Rows of items in the memory store: kept with their session, sorted, so that one is found by halving.
 * Single-threaded, like all of it. */
#include "memory.h"

#include "mem.h"

#include <string.h>

static bool is_before(const struct ar_store_item_row *row, uint64_t list, uint64_t number)
{
	return row->list < list || (row->list == list && row->number < number);
}

/* Index of the first row that is not before that place. */
static size_t place_of(const struct ar_memory_session *ms, uint64_t list, uint64_t number)
{
	size_t low = 0, high = ms->item_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_before(&ms->items[middle], list, number))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct ar_store_item_row *ensure_item(struct ar_memory_session *ms, uint64_t list, uint64_t number)
{
	size_t at = place_of(ms, list, number);

	if (at < ms->item_count && ms->items[at].list == list && ms->items[at].number == number)
		return &ms->items[at];
	if (ms->item_count == ms->item_room) {
		ms->item_room = ms->item_room ? ms->item_room * 2 : 16;
		ms->items = ar_grow(ms->items, ms->item_room, sizeof *ms->items);
	}
	memmove(&ms->items[at + 1], &ms->items[at], (ms->item_count - at) * sizeof *ms->items);
	ms->item_count++;
	ms->items[at] = (struct ar_store_item_row){ .list = list, .number = number };
	return &ms->items[at];
}

void ar_memory_put_items(struct ar_memory_session *ms, const struct ar_store_append *a)
{
	for (size_t i = 0; i < a->item_count; i++) {
		const struct ar_store_item_row *row = &a->items[i];
		struct ar_store_item_row *kept = ensure_item(ms, row->list, row->number);

		ar_free((void *)kept->record.p);
		kept->record = (struct ar_str){ ar_str_dup(row->record), row->record.len };
	}
}

void ar_memory_drop_items(struct ar_memory_session *ms)
{
	for (size_t i = 0; i < ms->item_count; i++)
		ar_free((void *)ms->items[i].record.p);
	ar_free(ms->items);
}

enum ar_status ar_memory_items(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_items *op = AR_CONTAINER_OF(base, struct ar_store_items, op);
	const struct ar_memory_session *ms = NULL;
	struct ar_arena *a = &op->op.arena;
	struct ar_store_key key;

	op->rows = NULL;
	op->count = 0;
	op->more = false;
	if (ar_store_key_parse(op->session, &key))
		ms = ar_memory_session(m, &key);
	for (size_t i = ms ? place_of(ms, op->list, op->from) : 0; ms && i < ms->item_count; i++) {
		const struct ar_store_item_row *row = &ms->items[i];

		if (!is_before(row, op->list, op->to))
			break;
		op->more = op->count == op->limit;
		if (op->more)
			break;
		op->rows = ar_store_extend(a, op->rows, op->count, sizeof *op->rows);
		op->rows[op->count++] =
			(struct ar_store_item_row){ row->list, row->number, ar_arena_str(a, row->record) };
	}
	return AR_OK;
}
