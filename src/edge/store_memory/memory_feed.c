/* Feeds of the memory store: one lane, places by a counter, found by looking at every row.
 * Single-threaded. */
#include "memory.h"

#include "mem.h"

#include <stdlib.h>

#define LANE 1

static bool is_wanted(const struct ar_store_feed *op, const struct ar_memory_session *ms, size_t i)
{
	uint64_t after = op->only_heads ? 0 : ar_store_place_of(op->after, op->after_count, LANE);

	return ms->positions[i] > after && ar_str_eq(ms->row.tenant, op->tenant);
}

static void add(struct ar_store_feed *op, const struct ar_memory_session *ms, size_t i)
{
	struct ar_arena *a = &op->op.arena;

	op->rows = ar_store_extend(a, op->rows, op->row_count, sizeof *op->rows);
	op->rows[op->row_count++] = (struct ar_store_feed_row){ .at = { LANE, ms->positions[i] },
								.session = ar_store_key_text(a, &ms->key),
								.first_seq = ms->rows[i].first_seq,
								.last_seq = ms->rows[i].last_seq,
								.body = ar_arena_str(a, ms->rows[i].body) };
}

static int by_position(const void *a, const void *b)
{
	uint64_t x = ((const struct ar_store_feed_row *)a)->at.position;
	uint64_t y = ((const struct ar_store_feed_row *)b)->at.position;

	return x < y ? -1 : x > y;
}

static struct ar_memory_floor *find_floor(const struct ar_memory *m, struct ar_str tenant)
{
	for (size_t i = 0; i < m->floor_count; i++) {
		if (ar_str_eq(m->floors[i].tenant, tenant))
			return &m->floors[i];
	}
	return NULL;
}

static void set_floor(const struct ar_memory *m, struct ar_store_feed *op)
{
	const struct ar_memory_floor *floor = find_floor(m, op->tenant);

	if (!floor)
		return;
	op->floors = ar_arena_alloc(&op->op.arena, sizeof *op->floors);
	op->floors[op->floor_count++] = (struct ar_store_place){ LANE, floor->position };
}

static void set_head(struct ar_memory *m, struct ar_store_feed *op)
{
	op->limit = m->position;
	set_floor(m, op);
	if (op->row_count == 0)
		return;
	op->heads = &op->rows[op->row_count - 1].at;
	op->head_count = 1;
	op->row_count = 0;
}

/* As many as the page may hold, at least one. */
static void cut(struct ar_store_feed *op)
{
	size_t n = 0, used = 0, all = op->row_count;

	for (; n < all; n++) {
		size_t len = op->rows[n].body.len;

		if (n && (used > op->max_bytes || len > op->max_bytes - used))
			break;
		used += len;
	}
	op->row_count = n;
	op->at_end = n == all;
}

enum ar_status ar_memory_feed(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_feed *op = AR_CONTAINER_OF(base, struct ar_store_feed, op);
	const struct ar_memory_session *ms;

	ar_store_feed_reset(op);
	for (size_t i = 0; (ms = ar_map_next(&m->sessions, &i));) {
		for (size_t k = 0; k < ms->row_count; k++) {
			if (is_wanted(op, ms, k))
				add(op, ms, k);
		}
	}
	if (op->row_count)
		qsort(op->rows, op->row_count, sizeof *op->rows, by_position);
	if (op->only_heads)
		set_head(m, op);
	else
		cut(op);
	return AR_OK;
}

void ar_memory_raise_floor(struct ar_memory *m, const struct ar_memory_session *ms)
{
	struct ar_memory_floor *floor = find_floor(m, ms->row.tenant);
	uint64_t highest = 0;

	for (size_t i = 0; i < ms->row_count; i++)
		highest = ms->positions[i] > highest ? ms->positions[i] : highest;
	if (!highest)
		return;
	if (!floor) {
		m->floors = ar_grow(m->floors, m->floor_count + 1, sizeof *m->floors);
		floor = &m->floors[m->floor_count++];
		*floor = (struct ar_memory_floor){ .tenant = { ar_str_dup(ms->row.tenant),
							       ms->row.tenant.len } };
	}
	if (floor->position < highest)
		floor->position = highest;
}

void ar_memory_drop_floors(struct ar_memory *m)
{
	for (size_t i = 0; i < m->floor_count; i++)
		ar_free((void *)m->floors[i].tenant.p);
	ar_free(m->floors);
}
