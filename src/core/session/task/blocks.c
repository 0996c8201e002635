/* See the header. Pure. */
#include "task/blocks.h"

bool ar_block_ends(const struct ar_task *from, const struct ar_edge *edge, struct ar_str *ret_held,
		   struct ar_str *ret_blocker)
{
	bool is_blocks = ar_str_is(edge->kind, "blocks");

	*ret_held = is_blocks ? edge->target : from->id;
	*ret_blocker = is_blocks ? from->id : edge->target;
	return is_blocks || ar_str_is(edge->kind, "blocked_by");
}

bool ar_block_is_open(const struct ar_block *b)
{
	return !ar_str_is(b->edge->status, AR_EDGE_SATISFIED);
}

struct ar_block *ar_block_at(const struct ar_vec *blocks, size_t i)
{
	return blocks->at[i];
}

bool ar_task_holds_another(const struct ar_task *task)
{
	for (size_t i = 0; i < task->holds.count; i++) {
		const struct ar_block *b = ar_block_at(&task->holds, i);

		if (ar_block_is_open(b) && b->held && !ar_task_is_over(b->held))
			return true;
	}
	return false;
}

/* ---- keeping it ---- */

static void remove_block(struct ar_vec *blocks, const struct ar_block *b)
{
	size_t at;

	if (ar_vec_find(blocks, b, &at))
		ar_vec_remove(blocks, at);
}

static void drop_block(struct ar_block *b)
{
	if (b->held)
		remove_block(&b->held->held_by, b);
	if (b->blocker)
		remove_block(&b->blocker->holds, b);
}

void ar_blocks_add_task(struct ar_session *s, struct ar_task *task)
{
	ar_map_put(&s->declared_ids, task->id, task);
}

void ar_blocks_drop_task(struct ar_session *s, struct ar_task *task)
{
	if (ar_session_declared(s, task->id) == task)
		ar_map_del(&s->declared_ids, task->id);
	while (task->held_by.count > 0)
		drop_block(ar_block_at(&task->held_by, 0));
	while (task->holds.count > 0)
		drop_block(ar_block_at(&task->holds, 0));
}

void ar_blocks_add_edge(struct ar_session *s, struct ar_task *from, const struct ar_edge *edge)
{
	struct ar_str held, blocker;
	struct ar_block *b;

	if (!ar_block_ends(from, edge, &held, &blocker))
		return;
	b = ar_arena_alloc(&s->arena, sizeof(*b));
	*b = (struct ar_block){ .from = from,
				.edge = edge,
				.held = ar_session_any_task(s, held),
				.blocker = ar_session_any_task(s, blocker) };
	if (b->held)
		ar_vec_push(&s->arena, &b->held->held_by, b);
	if (b->blocker)
		ar_vec_push(&s->arena, &b->blocker->holds, b);
}

void ar_blocks_drop_edge(struct ar_task *from, const struct ar_edge *edge)
{
	struct ar_vec *const lists[] = { &from->held_by, &from->holds };

	for (size_t i = 0; i < AR_ARRAY_LEN(lists); i++) {
		for (size_t k = lists[i]->count; k > 0; k--) {
			struct ar_block *b = ar_block_at(lists[i], k - 1);

			if (b->edge == edge)
				drop_block(b);
		}
	}
}

void ar_blocks_restore(struct ar_session *s)
{
	for (size_t i = 0; i < s->declared.count; i++)
		ar_blocks_add_task(s, s->declared.at[i]);
	for (size_t i = 0; i < s->declared.count; i++) {
		struct ar_task *task = s->declared.at[i];

		for (size_t k = 0; k < task->edges.count; k++)
			ar_blocks_add_edge(s, task, task->edges.at[k]);
	}
}
