/* The audit trail of the memory store: one array in the order of writing. Single-threaded, like all of it. */
#include "memory.h"

#include "mem.h"

#include <string.h>

#define LANE 1

static struct ar_str dup_str(struct ar_str s)
{
	return (struct ar_str){ ar_str_dup(s), s.len };
}

static void drop_text(struct ar_store_audit_row *row)
{
	ar_free((void *)row->entry.tenant.p);
	ar_free((void *)row->entry.session.p);
	ar_free((void *)row->entry.record.p);
}

void ar_memory_audit_add(struct ar_memory *m, const struct ar_store_audit *e)
{
	ar_audit_chain_add(&m->chain, e);
	m->audits = ar_grow(m->audits, m->audit_count + 1, sizeof *m->audits);
	m->audits[m->audit_count++] = (struct ar_store_audit_row){ .place = { e->at, LANE, m->chain.n },
								   .entry = { .tenant = dup_str(e->tenant),
									      .at = e->at,
									      .session = dup_str(e->session),
									      .sequence = e->sequence,
									      .record = dup_str(e->record) },
								   .hash = m->chain.hash };
}

enum ar_status ar_memory_audit_put(struct ar_memory *m, struct ar_store_audit_put *op)
{
	enum ar_status st = ar_store_check_audit(op->entry, &op->op.err);

	if (!st)
		ar_memory_audit_add(m, op->entry);
	return st;
}

void ar_memory_audit_prune(struct ar_memory *m, struct ar_store_upkeep *op, size_t most)
{
	size_t n = 0;

	while (n < most && n + 1 < m->audit_count && m->audits[n].entry.at < op->audit_before)
		drop_text(&m->audits[n++]);
	op->audits = n;
	if (!n)
		return;
	m->audit_floor = (struct ar_audit_chain){ m->audits[n - 1].place.n, m->audits[n - 1].hash };
	m->audit_count -= n;
	memmove(m->audits, m->audits + n, m->audit_count * sizeof *m->audits);
}

/* ---- the list ---- */

static int compare_rows(const struct ar_store_audit_place *a, const struct ar_store_audit_place *b)
{
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->n < b->n ? -1 : a->n > b->n;
}

static bool is_wanted(const struct ar_store_audit_list *op, const struct ar_store_audit_place *after,
		      const struct ar_store_audit_row *row)
{
	int side = compare_rows(&row->place, after);

	return (ar_str_absent(op->tenant) || ar_str_eq(op->tenant, row->entry.tenant)) &&
	       row->entry.at >= op->since && (!op->until || row->entry.at < op->until) &&
	       (op->is_oldest_first ? side > 0 : side < 0);
}

/* The nearest one behind a place. */
static const struct ar_store_audit_row *next_row(const struct ar_memory *m,
						 const struct ar_store_audit_list *op,
						 const struct ar_store_audit_place *after)
{
	const struct ar_store_audit_row *best = NULL;

	for (size_t i = 0; i < m->audit_count; i++) {
		const struct ar_store_audit_row *row = &m->audits[i];
		int side = best ? compare_rows(&row->place, &best->place) : 0;

		if (is_wanted(op, after, row) && (!best || (op->is_oldest_first ? side < 0 : side > 0)))
			best = row;
	}
	return best;
}

enum ar_status ar_memory_audit_list(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_audit_list *op = AR_CONTAINER_OF(base, struct ar_store_audit_list, op);
	struct ar_store_audit_place at = ar_audit_list_from(op);
	const struct ar_store_audit_row *row;

	op->rows = NULL;
	op->count = 0;
	while (op->count < op->limit && (row = next_row(m, op, &at))) {
		op->rows = ar_store_extend(&base->arena, op->rows, op->count, sizeof *op->rows);
		op->rows[op->count] = *row;
		op->rows[op->count].entry.tenant = ar_arena_str(&base->arena, row->entry.tenant);
		op->rows[op->count].entry.session = ar_arena_str(&base->arena, row->entry.session);
		op->rows[op->count++].entry.record = ar_arena_str(&base->arena, row->entry.record);
		at = row->place;
	}
	op->more = next_row(m, op, &at) != NULL;
	return AR_OK;
}

enum ar_status ar_memory_audit_verify(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_audit_verify *op = AR_CONTAINER_OF(base, struct ar_store_audit_verify, op);

	for (size_t i = 0; i < m->audit_count && !op->more; i++) {
		if (m->audits[i].place.n <= op->n)
			continue;
		op->more = op->checked == op->limit;
		if (!op->more)
			ar_audit_verify_row(op, &m->audits[i], &m->audit_floor);
	}
	return AR_OK;
}

void ar_memory_drop_audits(struct ar_memory *m)
{
	for (size_t i = 0; i < m->audit_count; i++)
		drop_text(&m->audits[i]);
	ar_free(m->audits);
}
