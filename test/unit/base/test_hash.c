/* Content hashes against published SHA-256 vectors, their text form, and the keyed hash. */
#include "unit.h"
#include "hash.h"

#include <sodium.h>

static const uint8_t of_abc[AR_HASH_LEN] = {
	0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
	0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
};

static void test_sha256(void **state AR_UNUSED)
{
	struct ar_hash h = ar_hash_of(AR_STR("abc"));

	assert_memory_equal(h.b, of_abc, AR_HASH_LEN);
	h = ar_hash_of(AR_STR(""));
	assert_int_equal(h.b[0], 0xe3);
	assert_int_equal(h.b[31], 0x55);
}

/* Lengths around every block border, against libsodium: what the processor computes must not differ. */
static void test_sha256_lengths(void **state AR_UNUSED)
{
	uint8_t expected[AR_HASH_LEN];
	char bytes[300];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * 131 + 7);
	for (size_t len = 0; len <= sizeof bytes; len++) {
		struct ar_hash h = ar_hash_of((struct ar_str){ bytes, len });

		crypto_hash_sha256(expected, (const unsigned char *)bytes, len);
		assert_memory_equal(h.b, expected, AR_HASH_LEN);
	}
}

static void test_hex(void **state AR_UNUSED)
{
	struct ar_hash h = ar_hash_of(AR_STR("abc"));
	char text[AR_HASH_HEX];

	ar_hash_hex(&h, text);
	assert_memory_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
			    AR_HASH_HEX);
}

static void test_text_round_trip(void **state AR_UNUSED)
{
	struct ar_hash h = ar_hash_of(AR_STR("abc")), back = { { 0 } };
	char text[AR_HASH_TEXT];
	struct ar_str s = { text, sizeof text };

	ar_hash_text(&h, text);
	assert_true(ar_hash_parse(s, &back));
	assert_memory_equal(back.b, h.b, AR_HASH_LEN);
	assert_false(ar_hash_parse(ar_str_sub(s, 1, 51), &back));
	text[51] = 'U';
	assert_false(ar_hash_parse(s, &back));
	memset(text, 'z', sizeof text); /* 260 bits do not fit 256 */
	assert_false(ar_hash_parse(s, &back));
	assert_memory_equal(back.b, h.b, AR_HASH_LEN);
}

static void test_keyed_hash(void **state AR_UNUSED)
{
	assert_true(ar_hash_key(AR_STR("a")) == ar_hash_key(AR_STR("a")));
	assert_true(ar_hash_key(AR_STR("a")) != ar_hash_key(AR_STR("b")));
	assert_true(ar_hash_key(AR_STR("")) != ar_hash_key(AR_STR("\0")));
}

static void test_same_secret(void **state)
{
	(void)state;
	assert_true(ar_hash_is_same(AR_STR("secret"), AR_STR("secret")));
	assert_false(ar_hash_is_same(AR_STR("secret"), AR_STR("secreT")));
	assert_false(ar_hash_is_same(AR_STR("secret"), AR_STR("secre")));
	assert_false(ar_hash_is_same(AR_STR("secret"), AR_STR("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256),		cmocka_unit_test(test_sha256_lengths),
		cmocka_unit_test(test_text_round_trip), cmocka_unit_test(test_keyed_hash),
		cmocka_unit_test(test_same_secret),	cmocka_unit_test(test_hex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
