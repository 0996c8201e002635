/* Values on PostgreSQL's wire, in binary form: parameters of a statement, arrays for unnest, and columns of a
 * result. Only five types are used, so that every server that speaks the protocol agrees on the bytes: uuid,
 * int8, bytea, bool, and text for what people look for (nodes). Names are bytea, not text: any bytes are
 * taken, and they compare and sort as bytes under every collation. Pure functions over the caller's
 * memory. */
#ifndef AR_EDGE_STORE_PG_ARGS_H
#define AR_EDGE_STORE_PG_ARGS_H

#include "buf.h"
#include "row_sum.h"

#include <libpq-fe.h>

#define AR_PG_ARGS 11

/* Parameters in order; a zeroed one has none. Text and bytes are borrowed until they are sent. */
struct ar_pg_args {
	int count;
	const char *value[AR_PG_ARGS];
	int length[AR_PG_ARGS];
	int format[AR_PG_ARGS];
	char scratch[AR_PG_ARGS][8];
};

/* A one-dimensional array that grows by elements. Its memory is kept from one use to the next. */
struct ar_pg_array {
	struct ar_buf buf;
	uint32_t count;
	bool has_null;
};

enum ar_pg_type {
	AR_PG_BOOL = 16,
	AR_PG_BYTEA = 17,
	AR_PG_INT8 = 20,
	AR_PG_TEXT = 25,
	AR_PG_UUID = 2950,
};

AR_BEGIN_DECLS

/* Absent bytes are NULL; numbers above INT64_MAX become INT64_MAX: only bounds of ranges are. */
void ar_pg_arg_bytes(struct ar_pg_args *a, struct ar_str v);
void ar_pg_arg_key(struct ar_pg_args *a, const struct ar_store_key *key);
void ar_pg_arg_u64(struct ar_pg_args *a, uint64_t v);
void ar_pg_arg_bool(struct ar_pg_args *a, bool v);
void ar_pg_arg_array(struct ar_pg_args *a, struct ar_pg_array *array);

void ar_pg_array_start(struct ar_pg_array *array, enum ar_pg_type type);
void ar_pg_array_bytes(struct ar_pg_array *array, struct ar_str v); /* also uuid, text */
void ar_pg_array_i64(struct ar_pg_array *array, int64_t v);
void ar_pg_array_bool(struct ar_pg_array *array, bool v);
void ar_pg_array_fini(struct ar_pg_array *array);

/* Columns; col_bytes is the result's, the others are copies in the arena. A NULL number is 0. */
int64_t ar_pg_col_i64(const PGresult *r, int row, int col);
bool ar_pg_col_bool(const PGresult *r, int row, int col);
uint64_t ar_pg_col_u64(const PGresult *r, int row, int col);
struct ar_str ar_pg_col_bytes(const PGresult *r, int row, int col);
struct ar_str ar_pg_col_str(const PGresult *r, int row, int col, struct ar_arena *a);

/* Unpacks stored bytes into the arena; absent stays so. */
AR_MUST_USE enum ar_status ar_pg_unpack(struct ar_packer *p, struct ar_str packed, struct ar_arena *a,
					struct ar_str *ret, struct ar_error *err);
AR_MUST_USE enum ar_status ar_pg_unpack_checksummed(struct ar_packer *p, struct ar_str packed,
						    struct ar_row_sum at, struct ar_arena *a,
						    struct ar_str *ret, struct ar_error *err);

AR_END_DECLS

#endif
