/* Rows of actions in the memory store: kept with their session, so that they go with it; a list looks at all
 * of them and sorts. Single-threaded, like all of it. */
#include "memory.h"

#include "mem.h"

#include <stdlib.h>

static struct ar_str dup_str(struct ar_str s)
{
	return (struct ar_str){ ar_str_dup(s), s.len };
}

static void drop_texts(struct ar_store_action_row *row)
{
	ar_free((void *)row->action.p);
	ar_free((void *)row->tenant.p);
	ar_free((void *)row->account.p);
	ar_free((void *)row->record.p);
}

static struct ar_store_action_row *ensure_action(struct ar_memory_session *ms, struct ar_str action)
{
	for (size_t i = 0; i < ms->action_count; i++) {
		if (ar_str_eq(ms->actions[i].action, action))
			return &ms->actions[i];
	}
	ms->actions = ar_grow(ms->actions, ms->action_count + 1, sizeof *ms->actions);
	ms->actions[ms->action_count] = (struct ar_store_action_row){ 0 };
	return &ms->actions[ms->action_count++];
}

void ar_memory_put_actions(struct ar_memory_session *ms, const struct ar_store_append *a)
{
	for (size_t i = 0; i < a->action_count; i++) {
		const struct ar_store_action_row *row = &a->actions[i];
		struct ar_store_action_row *kept = ensure_action(ms, row->action);

		drop_texts(kept);
		*kept = (struct ar_store_action_row){ .action = dup_str(row->action),
						      .tenant = dup_str(ar_store_tenant_of(row->tenant)),
						      .account = dup_str(row->account),
						      .created = row->created,
						      .is_pending = row->is_pending,
						      .record = dup_str(row->record) };
	}
}

void ar_memory_drop_actions(struct ar_memory_session *ms)
{
	for (size_t i = 0; i < ms->action_count; i++)
		drop_texts(&ms->actions[i]);
	ar_free(ms->actions);
}

/* ---- the list ---- */

static int oldest_first(const void *a, const void *b)
{
	const struct ar_store_action_row *x = a, *y = b;

	if (x->created != y->created)
		return x->created < y->created ? -1 : 1;
	return ar_str_cmp(x->action, y->action);
}

static bool is_listed(const struct ar_store_action_row *row, const struct ar_store_actions *op)
{
	struct ar_store_action_row after = { .action = op->after, .created = op->after_created };

	if (op->filter && row->is_pending != (op->filter == AR_STORE_ACTION_PENDING))
		return false;
	if (!ar_str_absent(op->tenant) && !ar_str_eq(op->tenant, row->tenant))
		return false;
	if (!ar_str_absent(op->account) && !ar_str_eq(op->account, row->account))
		return false;
	return ar_str_absent(op->after) || oldest_first(row, &after) > 0;
}

static void add_of(const struct ar_memory_session *ms, struct ar_store_actions *op)
{
	for (size_t i = 0; i < ms->action_count; i++) {
		if (!is_listed(&ms->actions[i], op))
			continue;
		op->rows = ar_store_extend(&op->op.arena, op->rows, op->count, sizeof *op->rows);
		op->rows[op->count++] = ms->actions[i];
	}
}

static void cut_and_copy(struct ar_store_actions *op)
{
	struct ar_arena *a = &op->op.arena;

	if (op->count)
		qsort(op->rows, op->count, sizeof *op->rows, oldest_first);
	op->more = op->count > op->limit;
	if (op->more)
		op->count = op->limit;
	for (size_t i = 0; i < op->count; i++) {
		op->rows[i].action = ar_arena_str(a, op->rows[i].action);
		op->rows[i].tenant = ar_arena_str(a, op->rows[i].tenant);
		op->rows[i].account = ar_arena_str(a, op->rows[i].account);
		op->rows[i].record = ar_arena_str(a, op->rows[i].record);
	}
}

enum ar_status ar_memory_actions(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_actions *op = AR_CONTAINER_OF(base, struct ar_store_actions, op);
	const struct ar_memory_session *ms;
	struct ar_store_key key;

	op->rows = NULL;
	op->count = 0;
	op->more = false;
	if (!ar_str_absent(op->session)) {
		ms = ar_store_key_parse(op->session, &key) ? ar_memory_session(m, &key) : NULL;
		if (ms)
			add_of(ms, op);
	} else {
		for (size_t i = 0; (ms = ar_map_next(&m->sessions, &i));)
			add_of(ms, op);
	}
	cut_and_copy(op);
	return AR_OK;
}
