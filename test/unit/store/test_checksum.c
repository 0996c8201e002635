/* Values with checksums: what comes back is what was put there; any bit that is hit, and any other place, is
 * noticed; programs that know nothing of checksums read them, and values from before are read as they are. */
#include "row_sum.h"

#include "mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zstd.h>
#include <cmocka.h>

static struct ar_pack_dictionaries *none;
static struct ar_packer *packer, *reader;

static int set_up(void **state)
{
	(void)state;
	none = ar_pack_dictionaries_new();
	packer = ar_packer_new(none);
	reader = ar_packer_new(none);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ar_packer_free(packer);
	ar_packer_free(reader);
	ar_pack_dictionaries_free(none);
	return 0;
}

/* Text that compresses, or bytes that do not. */
static struct ar_str make_value(struct ar_arena *a, size_t len, bool is_noise)
{
	uint64_t random = 7;
	char *p = ar_arena_alloc(a, len + 1);

	for (size_t i = 0; i < len; i++)
		p[i] = is_noise ? (char)ar_store_random(&random) : "{\"fact\":1}"[i % 10];
	return (struct ar_str){ p, len };
}

static struct ar_row_sum place(uint64_t first)
{
	struct ar_store_key key = { { 1, 2, 3 } };

	return ar_row_sum_of_facts(&key, first, 9);
}

static enum ar_status read_at(uint64_t first, struct ar_str stored, struct ar_arena *a, struct ar_str *ret)
{
	return ar_unpack_checksummed(reader, stored, place(first), a, ret, NULL);
}

static const size_t sizes[] = { 0, 1, 199, 255, 256, 400, 65791, 65792, 131072, 131073, 400000 };

static void comes_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * AR_ARRAY_LEN(sizes); i++) {
		struct ar_arena a = { 0 };
		struct ar_str value = make_value(&a, sizes[i / 2], i % 2), back = AR_STR_NONE;
		struct ar_str stored = ar_arena_str(&a, ar_pack_checksummed(packer, value, place(5)));
		char *plain = ar_arena_alloc(&a, value.len + 1);

		assert_int_equal(read_at(5, stored, &a, &back), AR_OK);
		assert_true(ar_str_eq(back, value));
		assert_int_equal(read_at(4, stored, &a, &back), AR_E_CORRUPT);
		assert_int_equal(ZSTD_decompress(plain, value.len, stored.p + 1, stored.len - 1), value.len);
		assert_memory_equal(plain, value.p, value.len);
		ar_arena_fini(&a);
	}
}

static void every_bit_is_watched(void **state)
{
	(void)state;
	for (size_t i = 0; i < 12;
	     i++) { /* up to 400 bytes: those above differ in nothing but their length */
		struct ar_arena a = { 0 };
		struct ar_str value = make_value(&a, sizes[i / 2], i % 2), back;
		struct ar_str stored = ar_pack_checksummed(packer, value, place(5));
		char *hit = ar_arena_alloc(&a, stored.len + 1);

		memcpy(hit, stored.p, stored.len);
		for (size_t bit = 0; bit < 8 * stored.len; bit++) {
			struct ar_arena scratch = { 0 };

			hit[bit / 8] ^= (char)(1 << bit % 8);
			assert_int_equal(read_at(5, (struct ar_str){ hit, stored.len }, &scratch, &back),
					 AR_E_CORRUPT);
			hit[bit / 8] ^= (char)(1 << bit % 8);
			ar_arena_fini(&scratch);
		}
		ar_arena_fini(&a);
	}
}

static void packed_ahead_has_the_same_checksum(void **state)
{
	struct ar_arena a = { 0 };
	struct ar_str value = make_value(&a, 5000, false);
	struct ar_str alone = ar_arena_str(&a, ar_pack_checksummed(packer, value, place(5)));
	const struct ar_packed_ahead *ahead = NULL;

	(void)state;
	ar_pack_ahead(reader, value, &a, &ahead);
	ar_packer_look(packer, ahead);
	assert_true(ar_str_eq(ar_pack_checksummed(packer, value, place(5)), alone));
	ar_packer_look(packer, NULL);
	ar_arena_fini(&a);
}

static void values_from_before_are_read(void **state)
{
	struct ar_arena a = { 0 };
	struct ar_str back = AR_STR_NONE;

	(void)state;
	for (size_t i = 1; i < AR_ARRAY_LEN(sizes); i++) {
		struct ar_str value = make_value(&a, sizes[i], false);

		assert_int_equal(read_at(5, ar_pack(packer, value), &a, &back), AR_OK);
		assert_true(ar_str_eq(back, value));
	}
	ar_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(every_bit_is_watched),
		cmocka_unit_test(packed_ahead_has_the_same_checksum),
		cmocka_unit_test(values_from_before_are_read),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
