/* Rows of tokens in the memory store: one array in the order of versions; a put takes the row out and adds it
 * at the end. Single-threaded, like all of it. */
#include "memory.h"

#include "mem.h"

#include <string.h>

static void drop_text(struct ar_store_token_row *row)
{
	ar_free((void *)row->token.p);
	ar_free((void *)row->record.p);
}

static size_t find_token(const struct ar_memory *m, struct ar_str token)
{
	size_t i = 0;

	while (i < m->token_count && !ar_str_eq(m->tokens[i].token, token))
		i++;
	return i;
}

static void remove_token(struct ar_memory *m, size_t at)
{
	drop_text(&m->tokens[at]);
	m->token_count--;
	memmove(&m->tokens[at], &m->tokens[at + 1], (m->token_count - at) * sizeof *m->tokens);
}

enum ar_status ar_memory_token_put(struct ar_memory *m, struct ar_store_token_put *op)
{
	enum ar_status st = ar_store_check_token(op, &op->op.err);
	size_t at = find_token(m, op->token);
	uint64_t stored = at < m->token_count ? m->tokens[at].version : 0;

	if (st)
		return st;
	if (stored != op->expected)
		return ar_store_fail_token(&op->op.err, op->token);
	if (stored)
		remove_token(m, at);
	if (ar_str_absent(op->record))
		return AR_OK;
	m->tokens = ar_grow(m->tokens, m->token_count + 1, sizeof *m->tokens);
	m->tokens[m->token_count++] =
		(struct ar_store_token_row){ .token = { ar_str_dup(op->token), op->token.len },
					     .version = op->version = ++m->token_version,
					     .record = { ar_str_dup(op->record), op->record.len } };
	if (op->audit)
		ar_memory_audit_add(m, op->audit);
	return AR_OK;
}

enum ar_status ar_memory_tokens(struct ar_memory *m, struct ar_store_op *base)
{
	struct ar_store_tokens *op = AR_CONTAINER_OF(base, struct ar_store_tokens, op);
	size_t first = 0;

	while (first < m->token_count && m->tokens[first].version <= op->after)
		first++;
	op->more = m->token_count - first > op->limit;
	op->count = op->more ? op->limit : m->token_count - first;
	op->rows = ar_arena_alloc(&base->arena, (op->count + 1) * sizeof *op->rows);
	for (size_t i = 0; i < op->count; i++) {
		const struct ar_store_token_row *row = &m->tokens[first + i];

		op->rows[i] =
			(struct ar_store_token_row){ ar_arena_str(&base->arena, row->token), row->version,
						     ar_arena_str(&base->arena, row->record) };
	}
	return AR_OK;
}

void ar_memory_drop_tokens(struct ar_memory *m)
{
	for (size_t i = 0; i < m->token_count; i++)
		drop_text(&m->tokens[i]);
	ar_free(m->tokens);
}
