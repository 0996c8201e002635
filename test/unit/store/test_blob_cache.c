/* The cache of content in front of SQLite: what it gives is what was put, it keeps within its bytes, and the
 * newest stay. */
#include "blob_cache.h"

#include "mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct ar_hash hash_of_number(unsigned n)
{
	return ar_hash_of((struct ar_str){ (const char *)&n, sizeof n });
}

static bool has(struct ar_blob_cache *c, unsigned n, struct ar_arena *a, struct ar_str *ret)
{
	struct ar_hash hash = hash_of_number(n);

	return ar_blob_cache_get(c, &hash, a, ret);
}

static void put(struct ar_blob_cache *c, unsigned n, struct ar_str bytes)
{
	struct ar_hash hash = hash_of_number(n);

	ar_blob_cache_put(c, &hash, bytes);
}

static void gives_copies_of_what_was_put(void **state)
{
	struct ar_blob_cache c;
	struct ar_arena a = { 0 };
	struct ar_str got = AR_STR_NONE;

	(void)state;
	ar_blob_cache_init(&c);
	put(&c, 1, AR_STR("one"));
	put(&c, 1, AR_STR("one"));
	assert_true(has(&c, 1, &a, &got));
	ar_blob_cache_clear(&c);
	assert_true(ar_str_is(got, "one"));
	assert_false(has(&c, 1, &a, &got));
	assert_int_equal(c.bytes, 0);
	put(&c, 1, AR_STR("again"));
	assert_true(has(&c, 1, &a, &got));
	ar_blob_cache_fini(&c);
	ar_arena_fini(&a);
}

/* A turn that only calls a tool says nothing: its content is empty, and is read with every later call of the
 * model. */
static void keeps_what_is_empty(void **state)
{
	struct ar_blob_cache c;
	struct ar_arena a = { 0 };
	struct ar_str got = AR_STR_NONE;

	(void)state;
	ar_blob_cache_init(&c);
	put(&c, 1, AR_STR(""));
	assert_true(has(&c, 1, &a, &got));
	assert_false(ar_str_absent(got));
	assert_int_equal(got.len, 0);
	put(&c, 2, AR_STR_NONE);
	assert_false(has(&c, 2, &a, &got));
	ar_blob_cache_fini(&c);
	ar_arena_fini(&a);
}

static void stays_within_its_bytes_and_keeps_the_newest(void **state)
{
	struct ar_blob_cache c;
	struct ar_arena a = { 0 };
	struct ar_str block = { ar_new0(65536), 65536 }, got;
	const unsigned count = 1000;

	(void)state;
	ar_blob_cache_init(&c);
	for (unsigned i = 0; i < count; i++) {
		put(&c, i, block);
		assert_true(c.bytes <= 8u << 20);
	}
	assert_true(has(&c, count - 1, &a, &got));
	assert_true(has(&c, count - 100, &a, &got));
	assert_false(has(&c, 0, &a, &got));
	assert_false(has(&c, count - 200, &a, &got));
	ar_blob_cache_fini(&c);
	ar_arena_fini(&a);
	ar_free((void *)(uintptr_t)block.p);
}

static void leaves_out_what_is_large(void **state)
{
	struct ar_blob_cache c;
	struct ar_arena a = { 0 };
	struct ar_str block = { ar_new0(65537), 65537 }, got;

	(void)state;
	ar_blob_cache_init(&c);
	put(&c, 1, block);
	assert_false(has(&c, 1, &a, &got));
	ar_blob_cache_fini(&c);
	ar_arena_fini(&a);
	ar_free((void *)(uintptr_t)block.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_copies_of_what_was_put),
		cmocka_unit_test(keeps_what_is_empty),
		cmocka_unit_test(stays_within_its_bytes_and_keeps_the_newest),
		cmocka_unit_test(leaves_out_what_is_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
