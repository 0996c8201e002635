/* See the header. What is hashed: the hash before, the numbers as eight bytes each, every text with its
 * length, so that no two entries have the same bytes. */
#include "audit_chain.h"

#include "buf.h"

#include <string.h>

static void add_number(struct ar_buf *b, uint64_t v)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	ar_buf_add(b, (const char *)bytes, sizeof bytes);
}

/* An absent text is not an empty one. */
static void add_text(struct ar_buf *b, struct ar_str s)
{
	add_number(b, ar_str_absent(s) ? UINT64_MAX : s.len);
	if (s.len)
		ar_buf_adds(b, s);
}

void ar_audit_chain_add(struct ar_audit_chain *c, const struct ar_store_audit *e)
{
	struct ar_buf text = { 0 };

	c->n++;
	ar_buf_add(&text, (const char *)c->hash.b, sizeof c->hash.b);
	add_number(&text, c->n);
	add_number(&text, (uint64_t)e->at);
	add_number(&text, e->sequence);
	add_text(&text, e->session);
	add_text(&text, e->tenant);
	add_text(&text, e->record);
	c->hash = ar_hash_of(ar_buf_str(&text));
	ar_buf_fini(&text);
}

static void add_fault(struct ar_store_audit_verify *op, const struct ar_store_audit_row *row,
		      enum ar_store_audit_break what)
{
	if (op->fault_count < AR_STORE_AUDIT_FAULTS)
		op->faults[op->fault_count] =
			(struct ar_store_audit_fault){ row->place.lane, row->place.n, what };
	op->fault_count++;
}

/* Goes on with what is stored: one that was changed does not make all behind it look so. */
void ar_audit_verify_row(struct ar_store_audit_verify *op, const struct ar_store_audit_row *row,
			 const struct ar_audit_chain *floor)
{
	struct ar_audit_chain chain = { op->n, op->last };

	if (row->place.lane != op->lane)
		chain = *floor;
	if (row->place.n != chain.n + 1) {
		add_fault(op, row, AR_STORE_AUDIT_MISSING);
	} else {
		ar_audit_chain_add(&chain, &row->entry);
		if (memcmp(chain.hash.b, row->hash.b, sizeof row->hash.b) != 0)
			add_fault(op, row, AR_STORE_AUDIT_CHANGED);
	}
	op->lane = row->place.lane;
	op->n = row->place.n;
	op->last = row->hash;
	op->checked++;
}

struct ar_hash ar_audit_hash_from(struct ar_str bytes)
{
	struct ar_hash h = { { 0 } };

	if (bytes.len == sizeof h.b)
		memcpy(h.b, bytes.p, sizeof h.b);
	return h;
}

struct ar_store_audit_place ar_audit_list_from(const struct ar_store_audit_list *op)
{
	static const struct ar_store_audit_place last = { INT64_MAX, INT64_MAX, INT64_MAX };

	if (op->has_after)
		return op->after;
	return op->is_oldest_first ? (struct ar_store_audit_place){ -1, 0, 0 } : last;
}
