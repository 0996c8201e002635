/* The rows of a store of ours, taken from one place and written again into another: the same tables, the same
 * bytes as packed there, the same journal and the same fence, on one connection. No JSON, no decisions, no
 * compression, no threads. Rows that an append replaces (session, task) are written with every append, as the
 * runtime does, and the session is active after every other one; contents, references to them, receipts and
 * snapshots by their share of all appends.
 *
 * floor_sqlite.c: files, one statement per row. floor_postgres.c: databases, one statement per table and one
 * round trip per commit. */
#ifndef AR_BENCH_FLOOR_ROWS_H
#define AR_BENCH_FLOOR_ROWS_H

#include <stddef.h>

struct floor_rows;

/* Reads all rows of `source` and makes `target` with the same tables. Ends the program when that fails. */
struct floor_rows *floor_open(const char *source, const char *target);

size_t floor_appends(const struct floor_rows *f); /* how many there are */
long long floor_facts(const struct floor_rows *f); /* in all of them */

/* Writes appends `from` to `to` (not included) in one commit; returns the microseconds it took. */
double floor_commit(struct floor_rows *f, size_t from, size_t to);

#endif
