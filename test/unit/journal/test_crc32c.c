/* The checksum of records: the published vectors, and the table and the processor's instruction against one
 * made bit by bit. */
#include "cmocka_unit.h"
#include "compiler.h"

#include "crc32c.c"

static uint32_t bit_by_bit(const unsigned char *p, size_t len)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (int k = 0; k < 8; k++)
			crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void test_published_vectors(void **state AR_UNUSED)
{
	unsigned char bytes[32];

	assert_int_equal(ar_crc32c(0, "123456789", 9), 0xe3069283u);
	assert_int_equal(ar_crc32c(0, "", 0), 0);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(ar_crc32c(0, bytes, sizeof(bytes)), 0x8a9136aau);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(ar_crc32c(0, bytes, sizeof(bytes)), 0x62a8ab43u);
}

static void test_all_ways_agree(void **state AR_UNUSED)
{
	unsigned char bytes[300];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 131 + 7);
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		uint32_t want = bit_by_bit(bytes, len);

		assert_int_equal(ar_crc32c(0, bytes, len), want);
		assert_int_equal(~by_table(~0u, bytes, len), want);
		assert_int_equal(ar_crc32c(ar_crc32c(0, bytes, len / 3), bytes + len / 3, len - len / 3),
				 want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_vectors),
		cmocka_unit_test(test_all_ways_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
