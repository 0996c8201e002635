/* See the header. Numbers travel in network order. */
#include "pg_args.h"

#include <endian.h>
#include <string.h>

#define ARRAY_HEADER 20 /* dimensions, has-null, element type, length, lower bound */

static void add(struct ar_pg_args *a, const char *value, size_t length)
{
	AR_ASSERT(a->count < AR_PG_ARGS && length <= INT32_MAX);
	a->value[a->count] = value;
	a->length[a->count] = (int)length;
	a->format[a->count++] = 1;
}

void ar_pg_arg_bytes(struct ar_pg_args *a, struct ar_str v)
{
	add(a, v.p, v.len);
}

void ar_pg_arg_key(struct ar_pg_args *a, const struct ar_store_key *key)
{
	ar_pg_arg_bytes(a, ar_store_key_bytes(key));
}

void ar_pg_arg_u64(struct ar_pg_args *a, uint64_t v)
{
	uint64_t be = htobe64(v > INT64_MAX ? INT64_MAX : v);
	char *to = a->scratch[a->count];

	memcpy(to, &be, sizeof be);
	add(a, to, sizeof be);
}

void ar_pg_arg_bool(struct ar_pg_args *a, bool v)
{
	char *to = a->scratch[a->count];

	*to = v;
	add(a, to, 1);
}

static void put_u32(char *to, uint32_t v)
{
	uint32_t be = htobe32(v);

	memcpy(to, &be, sizeof be);
}

void ar_pg_arg_array(struct ar_pg_args *a, struct ar_pg_array *array)
{
	put_u32(array->buf.p + 4, array->has_null);
	put_u32(array->buf.p + 12, array->count);
	add(a, array->buf.p, array->buf.len);
}

void ar_pg_array_start(struct ar_pg_array *array, enum ar_pg_type type)
{
	char header[ARRAY_HEADER] = { 0 };

	put_u32(header, 1);
	put_u32(header + 8, (uint32_t)type);
	put_u32(header + 16, 1);
	ar_buf_clear(&array->buf);
	ar_buf_add(&array->buf, header, sizeof header);
	array->count = 0;
	array->has_null = false;
}

static void add_element(struct ar_pg_array *array, const void *bytes, uint32_t length)
{
	char prefix[4];

	put_u32(prefix, bytes ? length : UINT32_MAX);
	ar_buf_add(&array->buf, prefix, sizeof prefix);
	if (bytes)
		ar_buf_add(&array->buf, bytes, length);
	array->has_null |= !bytes;
	array->count++;
}

void ar_pg_array_bytes(struct ar_pg_array *array, struct ar_str v)
{
	add_element(array, v.p, (uint32_t)v.len);
}

void ar_pg_array_i64(struct ar_pg_array *array, int64_t v)
{
	uint64_t be = htobe64((uint64_t)v);

	add_element(array, &be, sizeof be);
}

void ar_pg_array_bool(struct ar_pg_array *array, bool v)
{
	add_element(array, &v, 1);
}

void ar_pg_array_fini(struct ar_pg_array *array)
{
	ar_buf_fini(&array->buf);
}

int64_t ar_pg_col_i64(const PGresult *r, int row, int col)
{
	uint64_t be = 0;

	if (PQgetisnull(r, row, col) || PQgetlength(r, row, col) != sizeof be)
		return 0;
	memcpy(&be, PQgetvalue(r, row, col), sizeof be);
	return (int64_t)be64toh(be);
}

bool ar_pg_col_bool(const PGresult *r, int row, int col)
{
	return !PQgetisnull(r, row, col) && *PQgetvalue(r, row, col);
}

uint64_t ar_pg_col_u64(const PGresult *r, int row, int col)
{
	return (uint64_t)ar_pg_col_i64(r, row, col);
}

struct ar_str ar_pg_col_bytes(const PGresult *r, int row, int col)
{
	if (PQgetisnull(r, row, col))
		return AR_STR_NONE;
	return (struct ar_str){ PQgetvalue(r, row, col), (size_t)PQgetlength(r, row, col) };
}

struct ar_str ar_pg_col_str(const PGresult *r, int row, int col, struct ar_arena *a)
{
	return ar_arena_str(a, ar_pg_col_bytes(r, row, col));
}

enum ar_status ar_pg_unpack(struct ar_packer *p, struct ar_str packed, struct ar_arena *a, struct ar_str *ret,
			    struct ar_error *err)
{
	*ret = AR_STR_NONE;
	return ar_str_absent(packed) ? AR_OK : ar_unpack(p, packed, a, ret, err);
}

enum ar_status ar_pg_unpack_checksummed(struct ar_packer *p, struct ar_str packed, struct ar_row_sum at,
					struct ar_arena *a, struct ar_str *ret, struct ar_error *err)
{
	*ret = AR_STR_NONE;
	return ar_str_absent(packed) ? AR_OK : ar_unpack_checksummed(p, packed, at, a, ret, err);
}
