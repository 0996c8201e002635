/* Rows of the log that an older version wrote get a checksum, a page in each step of upkeep
 * (checksum_walk.h), inside the writer's transaction. A row that cannot be unpacked stays as it is: reads and
 * verify refuse it. Writer thread only. */
#include "sqlite.h"

#include "clock.h"
#include "row_sum.h"
#include "checksum_walk.h"

#include <string.h>

/* A row without a checksum, unpacked. */
struct bare {
	struct bare *next;
	struct ar_store_key session;
	uint64_t first_seq, last_seq;
	struct ar_str body;
};

static enum ar_status read_walk(struct ar_sqlite *s, struct ar_checksum_walk *ret, struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(&s->write_db, AR_SQL_META_GET);
	struct ar_str text = AR_STR_NONE;

	ar_sql_text(&q, AR_STR(AR_CHECKSUM_META));
	if (ar_sql_row(&q))
		text = ar_sql_col_raw(&q, 0);
	*ret = ar_checksum_walk_read(text, ar_clock_system()->wall(ar_clock_system()));
	return ar_sql_end(&q, err);
}

static enum ar_status write_walk(struct ar_sqlite *s, const struct ar_checksum_walk *w,
				 struct ar_store_upkeep *op)
{
	struct ar_sql q = ar_sql_begin(&s->write_db, AR_SQL_META_PUT);

	ar_sql_text(&q, AR_STR(AR_CHECKSUM_META));
	ar_sql_text(&q, ar_checksum_walk_text(w, &op->op.arena));
	return ar_sql_run(&q, &op->op.err);
}

/* The row that the statement stands on; NULL: it has a checksum, or cannot be read. */
static struct bare *bare_row(struct ar_sql *q, const struct ar_checksum_page *page, struct ar_arena *a)
{
	struct bare *row;

	if (ar_pack_has_checksum(ar_sql_col_raw(q, 3)))
		return NULL;
	row = ar_arena_alloc(a, sizeof *row);
	*row = (struct bare){ .session = page->last,
			      .first_seq = page->last_first_seq,
			      .last_seq = ar_sql_col_u64(q, 2) };
	return ar_sql_col_checksummed(q, 3, ar_row_sum_of_facts(&row->session, row->first_seq, row->last_seq),
				      a, &row->body, NULL) == AR_OK
		       ? row
		       : NULL;
}

static enum ar_status find_bare(struct ar_sqlite *s, const struct ar_checksum_walk *w,
				struct ar_store_upkeep *op, struct ar_checksum_page *page, struct bare **ret)
{
	struct ar_sql q = ar_sql_begin(&s->write_db, AR_SQL_CHECKSUM_LIST);
	struct ar_store_key to = ar_checksum_walk_end(w);
	size_t looked = 0, bytes = 0;

	ar_sql_key(&q, &w->session);
	ar_sql_u64(&q, w->first_seq);
	ar_sql_key(&q, &to);
	ar_sql_u64(&q, AR_CHECKSUM_PAGE);
	while (bytes < AR_CHECKSUM_BYTES && ar_sql_row(&q)) {
		struct ar_str raw = ar_sql_col_raw(&q, 0);
		struct bare *row;

		looked++;
		AR_ASSERT(raw.len == sizeof page->last.b);
		memcpy(page->last.b, raw.p, sizeof page->last.b);
		page->last_first_seq = ar_sql_col_u64(&q, 1);
		row = bare_row(&q, page, &op->op.arena);
		if (!row)
			continue;
		bytes += row->body.len;
		row->next = *ret;
		*ret = row;
	}
	page->is_full = looked == AR_CHECKSUM_PAGE || bytes >= AR_CHECKSUM_BYTES;
	return ar_sql_end(&q, &op->op.err);
}

static enum ar_status add_row_checksum(struct ar_sqlite *s, const struct bare *row, struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(&s->write_db, AR_SQL_CHECKSUM_PUT);

	ar_sql_key(&q, &row->session);
	ar_sql_u64(&q, row->first_seq);
	ar_sql_checksummed(&q, row->body, ar_row_sum_of_facts(&row->session, row->first_seq, row->last_seq));
	return ar_sql_run(&q, err);
}

static enum ar_status add_page_checksums(struct ar_sqlite *s, struct ar_checksum_walk *w,
					 struct ar_store_upkeep *op, bool *ret_goes_on)
{
	struct ar_checksum_page page = { 0 };
	struct bare *rows = NULL;
	enum ar_status st = find_bare(s, w, op, &page, &rows);

	for (; !st && rows; rows = rows->next, page.added++)
		st = add_row_checksum(s, rows, &op->op.err);
	op->sealed += (size_t)page.added;
	*ret_goes_on = !st && ar_checksum_walk_advance(w, &page, ar_clock_system()->wall(ar_clock_system()));
	return st;
}

enum ar_status ar_sqlite_add_checksums(struct ar_sqlite *s, struct ar_store_upkeep *op)
{
	struct ar_checksum_walk w;
	bool goes_on = true;
	enum ar_status st;

	if (s->has_checksums)
		return AR_OK;
	st = read_walk(s, &w, &op->op.err);
	s->has_checksums = !st && w.is_over;
	if (st || s->has_checksums)
		return st;
	while (!st && goes_on)
		st = add_page_checksums(s, &w, op, &goes_on);
	op->more = op->more || !w.is_over;
	return st ? st : write_walk(s, &w, op);
}
