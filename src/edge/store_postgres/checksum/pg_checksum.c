/* Rows of the log that an older version wrote get a checksum, a page in each step of upkeep
 * (checksum_walk.h). The row of table meta that says how far the walk is holds the nodes apart: who finds it
 * locked does nothing. A row that cannot be unpacked stays as it is: reads and verify refuse it. Writer
 * thread only. */
#include "postgres.h"

#include "clock.h"
#include "row_sum.h"
#include "checksum_walk.h"

#include <string.h>

enum { SESSIONS, SEQUENCES, BODIES };

static ar_usec wall_time(void)
{
	return ar_clock_system()->wall(ar_clock_system());
}

/* False: another node is at it, or the call failed. */
static bool read_walk(struct ar_postgres *s, struct ar_checksum_walk *ret)
{
	struct ar_pg *pg = &s->writer;
	struct ar_pg_args args = { 0 };
	PGresult *fence, *row;
	bool is_ours;

	ar_pg_arg_bytes(&args, AR_STR(AR_CHECKSUM_META));
	ar_postgres_begin(s);
	ar_pg_send(pg, AR_PG_CHECKSUM_BEGIN, &args);
	ar_pg_send(pg, AR_PG_CHECKSUM_WALK, &args);
	ar_pg_sync(pg);
	fence = ar_pg_next(pg);
	row = ar_pg_next(pg);
	is_ours = row && PQntuples(row) == 1;
	if (is_ours)
		*ret = ar_checksum_walk_read(ar_pg_col_bytes(row, 0, 0), wall_time());
	PQclear(fence);
	PQclear(row);
	return ar_pg_turn(pg) == AR_PG_FINE && is_ours;
}

/* One row of the page, if it has no checksum: with one, as elements of the arrays. */
static void add_row(struct ar_postgres *s, const PGresult *r, int i, struct ar_checksum_page *page,
		    struct ar_arena *a)
{
	struct ar_str raw = ar_pg_col_bytes(r, i, 0), body;
	struct ar_pg_array *columns = s->batch.columns;
	struct ar_row_sum place;

	AR_ASSERT(raw.len == sizeof page->last.b);
	memcpy(page->last.b, raw.p, sizeof page->last.b);
	page->last_first_seq = ar_pg_col_u64(r, i, 1);
	place = ar_row_sum_of_facts(&page->last, page->last_first_seq, ar_pg_col_u64(r, i, 2));
	if (ar_pg_unpack_checksummed(s->writer.packer, ar_pg_col_bytes(r, i, 3), place, a, &body, NULL) !=
		    AR_OK ||
	    ar_str_absent(body))
		return;
	ar_pg_array_bytes(&columns[SESSIONS], raw);
	ar_pg_array_i64(&columns[SEQUENCES], (int64_t)page->last_first_seq);
	ar_pg_array_bytes(&columns[BODIES], ar_pack_checksummed(s->writer.packer, body, place));
	page->added++;
}

static bool find_bare(struct ar_postgres *s, const struct ar_checksum_walk *w, struct ar_arena *a,
		      struct ar_checksum_page *page)
{
	struct ar_pg_array *columns = s->batch.columns;
	struct ar_store_key to = ar_checksum_walk_end(w);
	struct ar_pg_args args = { 0 };
	PGresult *r;
	int i = 0;

	ar_pg_array_start(&columns[SESSIONS], AR_PG_UUID);
	ar_pg_array_start(&columns[SEQUENCES], AR_PG_INT8);
	ar_pg_array_start(&columns[BODIES], AR_PG_BYTEA);
	ar_pg_arg_key(&args, &w->session);
	ar_pg_arg_u64(&args, w->first_seq);
	ar_pg_arg_key(&args, &to);
	ar_pg_arg_u64(&args, AR_CHECKSUM_PAGE);
	ar_pg_send(&s->writer, AR_PG_CHECKSUM_LIST, &args);
	ar_pg_sync(&s->writer);
	r = ar_pg_next(&s->writer);
	for (; r && i < PQntuples(r) && columns[BODIES].buf.len < AR_CHECKSUM_BYTES; i++)
		add_row(s, r, i, page, a);
	page->is_full = r && (i == AR_CHECKSUM_PAGE || i < PQntuples(r));
	PQclear(r);
	return ar_pg_turn(&s->writer) == AR_PG_FINE;
}

static void send_rows(struct ar_postgres *s)
{
	struct ar_pg_args args = { 0 };

	for (size_t i = SESSIONS; i <= BODIES; i++)
		ar_pg_arg_array(&args, &s->batch.columns[i]);
	ar_pg_send(&s->writer, AR_PG_CHECKSUM_PUT, &args);
}

static void send_walk(struct ar_postgres *s, const struct ar_checksum_walk *w, struct ar_arena *a)
{
	struct ar_pg_args args = { 0 };

	ar_pg_arg_bytes(&args, AR_STR(AR_CHECKSUM_META));
	ar_pg_arg_bytes(&args, ar_checksum_walk_text(w, a));
	ar_pg_send(&s->writer, AR_PG_CHECKSUM_END, &args);
}

enum ar_pg_fault ar_postgres_add_checksums(struct ar_postgres *s, struct ar_store_upkeep *op)
{
	struct ar_checksum_walk w = { 0 };
	bool goes_on = read_walk(s, &w) && !w.is_over, is_taken = goes_on;

	op->sealed = 0;
	s->has_checksums = w.is_over;
	while (goes_on) {
		struct ar_checksum_page page = { 0 };

		if (!find_bare(s, &w, &op->op.arena, &page))
			return ar_pg_end(&s->writer);
		if (page.added)
			send_rows(s);
		op->sealed += (size_t)page.added;
		goes_on = ar_checksum_walk_advance(&w, &page, wall_time());
	}
	if (s->writer.fault)
		return ar_pg_end(&s->writer);
	if (is_taken)
		send_walk(s, &w, &op->op.arena);
	op->more = op->more || (is_taken && !w.is_over);
	return ar_postgres_commit(s);
}
