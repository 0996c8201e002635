/* The hash tree against the definition of RFC 6962, and Ed25519 against a vector of RFC 8032. */
#include "unit.h"
#include "crypto/merkle.h"
#include "crypto/note.h"
#include "mem.h"

#include <string.h>

/* MTH(D[n]) as the RFC defines it: k is the largest power of two smaller than n. */
static struct ar_hash by_definition(struct ar_merkle *m, const struct ar_hash *leaves, size_t n)
{
	char node[1 + 2 * AR_HASH_LEN] = { 1 };
	struct ar_hash left, right;
	size_t k = 1;

	if (n == 1)
		return leaves[0];
	while (k * 2 < n)
		k *= 2;
	left = by_definition(m, leaves, k);
	right = by_definition(m, leaves + k, n - k);
	memcpy(node + 1, left.b, AR_HASH_LEN);
	memcpy(node + 1 + AR_HASH_LEN, right.b, AR_HASH_LEN);
	return ar_hash_of((struct ar_str){ node, sizeof(node) });
}

static void test_roots(void **state)
{
	struct ar_merkle m = { 0 };
	struct ar_hash leaves[70], root, expected;
	char text[2] = "a";

	(void)state;
	root = ar_merkle_root(&m);
	expected = ar_hash_of(AR_STR(""));
	assert_memory_equal(root.b, expected.b, AR_HASH_LEN);
	for (size_t i = 0; i < 70; i++) {
		text[0] = (char)(' ' + i);
		leaves[i] = ar_merkle_leaf(&m, ar_str_from(text));
		ar_merkle_add(&m, &leaves[i]);
		root = ar_merkle_root(&m);
		expected = by_definition(&m, leaves, i + 1);
		assert_memory_equal(root.b, expected.b, AR_HASH_LEN);
	}
	expected = ar_hash_of((struct ar_str){ "\0 ", 2 });
	assert_memory_equal(leaves[0].b, expected.b, AR_HASH_LEN);
	ar_merkle_fini(&m);
}

static void test_pieces(void **state)
{
	struct ar_sha256 s = { 0 };
	struct ar_hash h, expected = ar_hash_of(AR_STR("one and two"));

	(void)state;
	for (int round = 0; round < 2; round++) {
		ar_sha256_add(&s, AR_STR("one "));
		ar_sha256_add(&s, AR_STR("and two"));
		h = ar_sha256_end(&s);
		assert_memory_equal(h.b, expected.b, AR_HASH_LEN);
	}
	ar_sha256_fini(&s);
}

/* RFC 8032 7.1, test 2. */
static void test_signature(void **state)
{
	static const uint8_t seed[AR_SIGN_SEED] = { 0x4c, 0xcd, 0x08, 0x9b, 0x28, 0xff, 0x96, 0xda,
						    0x9d, 0xb6, 0xc3, 0x46, 0xec, 0x11, 0x4e, 0x0f,
						    0x5b, 0x8a, 0x31, 0x9f, 0x35, 0xab, 0xa6, 0x24,
						    0xda, 0x8c, 0xf6, 0xed, 0x4f, 0xb8, 0xa6, 0xfb };
	static const uint8_t begins[] = { 0x92, 0xa0, 0x09, 0xa9, 0xf0, 0xd4, 0xca, 0xb8 };
	uint8_t signature[AR_SIGNATURE], public[AR_SIGN_PUBLIC];
	struct ar_arena a = { 0 };
	struct ar_sign_key key;
	struct ar_str pem;

	(void)state;
	ar_sign_key_from(&key, seed);
	ar_sign(&key, (struct ar_str){ "\x72", 1 }, signature);
	assert_memory_equal(signature, begins, sizeof(begins));
	assert_true(ar_sign_is_valid(key.public, AR_STR("r"), signature));
	signature[63] ^= 1;
	assert_false(ar_sign_is_valid(key.public, AR_STR("r"), signature));
	pem = ar_sign_pem(&a, key.public);
	assert_true(ar_sign_pem_read(pem, public));
	assert_memory_equal(public, key.public, sizeof(public));
	assert_false(ar_sign_pem_read(ar_str_sub(pem, 0, pem.len - 1), public));
	assert_false(
		ar_sign_pem_read(AR_STR("-----BEGIN PUBLIC KEY-----\n\n-----END PUBLIC KEY-----\n"), public));
	assert_int_equal(ar_sign_fingerprint(&a, key.public).len, AR_HASH_HEX);
	ar_arena_fini(&a);
}

/* The text, its name and its signature belong together. */
static void test_note(void **state)
{
	static const uint8_t seed[AR_SIGN_SEED] = { 1 }, other_seed[AR_SIGN_SEED] = { 2 };
	struct ar_str text = AR_STR("log/one\n3\nabc=\n"), note, got = { 0 };
	struct ar_sign_key key, other;
	struct ar_arena a = { 0 };

	(void)state;
	ar_sign_key_from(&key, seed);
	ar_sign_key_from(&other, other_seed);
	note = ar_note_sign(&a, &key, AR_STR("log/one"), text);
	assert_true(ar_note_open(&a, key.public, note, &got));
	assert_true(ar_str_eq(got, text));
	assert_false(ar_note_open(&a, other.public, note, &got));
	for (size_t i = 0; i < note.len; i++) {
		char *bad = ar_str_dup(note);

		bad[i] ^= 1;
		assert_false(ar_note_open(&a, key.public, (struct ar_str){ bad, note.len }, &got));
		assert_false(ar_note_open(&a, key.public, ar_str_sub(note, 0, i), &got));
		ar_free(bad);
	}
	/* A name that is not that of the text. */
	note = ar_note_sign(&a, &key, AR_STR("log/two"), text);
	assert_false(ar_note_open(&a, key.public, note, &got));
	assert_false(ar_note_open(&a, key.public, AR_STR_NONE, &got));
	assert_false(ar_note_open(&a, key.public, AR_STR("\n\n"), &got));
	ar_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roots),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_signature),
		cmocka_unit_test(test_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
