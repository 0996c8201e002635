/* What model calls used, in the memory store: one row per key; pages are added up by a walk over all.
 * Single-threaded, like all of it. */
#include "memory.h"

#include "mem.h"

#include <stdlib.h>

static struct ar_str named(struct ar_str name)
{
	return ar_str_absent(name) ? AR_STR("") : name;
}

static struct ar_str dup_name(struct ar_str name)
{
	return (struct ar_str){ ar_str_dup(named(name)), named(name).len };
}

static void sum(struct ar_store_usage_row *to, const struct ar_store_usage_row *more)
{
	to->requests += more->requests;
	to->input_tokens += more->input_tokens;
	to->output_tokens += more->output_tokens;
	to->cached_tokens += more->cached_tokens;
	to->cost += more->cost;
}

static bool is_same(const struct ar_store_usage_row *a, const struct ar_store_usage_row *b)
{
	return a->hour == b->hour && ar_str_eq(a->tenant, ar_store_tenant_of(b->tenant)) &&
	       ar_str_eq(a->workspace, named(b->workspace)) && ar_str_eq(a->model, named(b->model)) &&
	       ar_str_eq(a->currency, named(b->currency));
}

static struct ar_store_usage_row *ensure_row(struct ar_memory *m, const struct ar_store_usage_row *row)
{
	for (size_t i = 0; i < m->usage_count; i++) {
		if (is_same(&m->usage[i], row))
			return &m->usage[i];
	}
	m->usage = ar_grow(m->usage, m->usage_count + 1, sizeof *m->usage);
	m->usage[m->usage_count] =
		(struct ar_store_usage_row){ .hour = row->hour,
					     .tenant = dup_name(ar_store_tenant_of(row->tenant)),
					     .workspace = dup_name(row->workspace),
					     .model = dup_name(row->model),
					     .currency = dup_name(row->currency) };
	return &m->usage[m->usage_count++];
}

void ar_memory_add_usage(struct ar_memory *m, const struct ar_store_append *a)
{
	for (size_t i = 0; i < a->usage_count; i++)
		sum(ensure_row(m, &a->usage[i]), &a->usage[i]);
}

static void drop_row(struct ar_store_usage_row *row)
{
	ar_free((void *)row->tenant.p);
	ar_free((void *)row->workspace.p);
	ar_free((void *)row->model.p);
	ar_free((void *)row->currency.p);
}

void ar_memory_drop_usage(struct ar_memory *m)
{
	for (size_t i = 0; i < m->usage_count; i++)
		drop_row(&m->usage[i]);
	ar_free(m->usage);
}

void ar_memory_usage_prune(struct ar_memory *m, struct ar_store_upkeep *op, size_t most)
{
	size_t left = 0;

	for (size_t i = 0; i < m->usage_count; i++) {
		if (m->usage[i].hour < op->usage_before / AR_STORE_HOUR && op->usages < most) {
			drop_row(&m->usage[i]);
			op->usages++;
		} else {
			m->usage[left++] = m->usage[i];
		}
	}
	m->usage_count = left;
}

/* ---- pages ---- */

/* What a row is in a page of that kind: its key, its currency, the sums. */
static struct ar_store_usage_row shown(struct ar_store_usage_row row, enum ar_store_usage_by by)
{
	struct ar_store_usage_row key = { .currency = named(row.currency) };
	struct ar_str *name = ar_store_usage_name(&key, by);

	if (name)
		*name = named(*ar_store_usage_name(&row, by));
	else
		key.hour = row.hour;
	sum(&key, &row);
	return key;
}

/* Of all names of a shown row at most one is set, and the same one in both. */
static int compare(const void *left, const void *right)
{
	const struct ar_store_usage_row *a = left, *b = right;
	const int by[] = { a->hour < b->hour ? -1 : a->hour > b->hour, ar_str_cmp(a->model, b->model),
			   ar_str_cmp(a->workspace, b->workspace), ar_str_cmp(a->tenant, b->tenant),
			   ar_str_cmp(a->currency, b->currency) };

	for (size_t i = 0; i < AR_ARRAY_LEN(by); i++) {
		if (by[i])
			return by[i];
	}
	return 0;
}

static bool is_wanted(const struct ar_store_usage *op, const struct ar_store_usage_row *row)
{
	return row->hour >= op->from && row->hour < op->to &&
	       (ar_str_absent(op->tenant) || ar_str_eq(op->tenant, row->tenant)) &&
	       (ar_str_absent(op->workspace) || ar_str_eq(op->workspace, row->workspace)) &&
	       (ar_str_absent(op->model) || ar_str_eq(op->model, row->model));
}

static size_t collect(const struct ar_memory *m, const struct ar_store_usage *op,
		      struct ar_store_usage_row *rows)
{
	struct ar_store_usage_row after = shown(op->after, op->by);
	size_t count = 0;

	for (size_t i = 0; i < m->usage_count; i++) {
		if (!is_wanted(op, &m->usage[i]))
			continue;
		rows[count] = shown(m->usage[i], op->by);
		count += !op->has_after || compare(&rows[count], &after) > 0;
	}
	qsort(rows, count, sizeof *rows, compare);
	return count;
}

static void copy_row(struct ar_store_usage *op, const struct ar_store_usage_row *row)
{
	struct ar_store_usage_row *to = &op->rows[op->count++];
	struct ar_str *name;

	*to = *row;
	to->currency = ar_arena_str(&op->op.arena, row->currency);
	name = ar_store_usage_name(to, op->by);
	if (name)
		*name = ar_arena_str(&op->op.arena, *name);
}

enum ar_status ar_memory_usage(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_usage *op = AR_CONTAINER_OF(base, struct ar_store_usage, op);
	struct ar_store_usage_row *found = ar_new0((m->usage_count + 1) * sizeof *found);
	size_t count = collect(m, op, found);

	op->rows = ar_arena_alloc(&base->arena, (op->limit + 1) * sizeof *op->rows);
	op->count = 0;
	op->more = false;
	for (size_t i = 0; i < count && !op->more; i++) {
		if (op->count > 0 && compare(&op->rows[op->count - 1], &found[i]) == 0)
			sum(&op->rows[op->count - 1], &found[i]);
		else if (op->count == op->limit)
			op->more = true;
		else
			copy_row(op, &found[i]);
	}
	ar_free(found);
	return AR_OK;
}
