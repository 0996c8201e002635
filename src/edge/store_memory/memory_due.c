/* Sessions by their due times: all of them are looked at and sorted. */
#include "memory.h"

#include "mem.h"

#include <stdlib.h>
#include <string.h>

static int order(ar_usec due, const struct ar_store_key *key, ar_usec other_due,
		 const struct ar_store_key *other)
{
	if (due != other_due)
		return due < other_due ? -1 : 1;
	return memcmp(key->b, other->b, AR_STORE_KEY);
}

static int earliest_first(const void *a, const void *b)
{
	const struct ar_memory_session *const *x = a, *const *y = b;

	return order((*x)->row.due, &(*x)->key, (*y)->row.due, &(*y)->key);
}

static void list_from(struct ar_store_due *op, const struct ar_memory_session **found, size_t count)
{
	struct ar_arena *a = &op->op.arena;

	op->more = count > op->limit;
	op->count = op->more ? op->limit : count;
	op->ids = ar_arena_alloc(a, (op->count + 1) * sizeof *op->ids);
	op->times = ar_arena_alloc(a, (op->count + 1) * sizeof *op->times);
	for (size_t i = 0; i < op->count; i++) {
		op->ids[i] = ar_store_key_text(a, &found[i]->key);
		op->times[i] = found[i]->row.due;
	}
}

enum ar_status ar_memory_due(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_due *op = AR_CONTAINER_OF(base, struct ar_store_due, op);
	const struct ar_memory_session **found, *ms;
	struct ar_store_key after;
	bool has_after = !ar_str_absent(op->after);
	size_t count = 0;

	if (has_after && !ar_store_key_parse(op->after, &after))
		return ar_store_fail_key(&base->err, op->after);
	found = ar_new0((m->sessions.count + 1) * sizeof(struct ar_memory_session *));
	for (size_t i = 0; (ms = ar_map_next(&m->sessions, &i));) {
		if (ms->has_row && ms->row.due && ar_store_partitions_have(op->partitions, &ms->key) &&
		    (!has_after || order(ms->row.due, &ms->key, op->after_due, &after) > 0))
			found[count++] = ms;
	}
	qsort(found, count, sizeof(struct ar_memory_session *), earliest_first);
	list_from(op, found, count);
	ar_free(found);
	return AR_OK;
}
