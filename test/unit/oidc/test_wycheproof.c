/* The vectors of project Wycheproof against what verifies signed tokens: AR_WYCHEPROOF names the folder
 * testvectors_v1 of a checkout. Without it nothing is run: the vectors are not ours to keep. Whole tokens go
 * through the parser and the keys; bare signatures of the kinds that tokens have, through the keys.
 *
 * What is said to be wrong must be refused. What is said to be right must be taken, unless it is not for us:
 * another algorithm, a key that is too long, or no claims. What is acceptable may go either way. */
#include "buf.h"
#include "cmocka_unit.h"
#include "jwk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
	struct ar_json_parser *outer, *inner; /* the file stays while keys and tokens are read */
	struct ar_arena a;
	struct ar_buf file;
	unsigned taken, refused, not_for_us, wrong;
};

static struct ar_str text_of(struct ar_json v, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(v, name), &text);
	return text;
}

static bool read_file(struct world *w, const char *name)
{
	char path[4096], piece[65536];
	FILE *file;
	size_t n;

	snprintf(path, sizeof path, "%s/%s", getenv("AR_WYCHEPROOF"), name);
	file = fopen(path, "re");
	if (!file)
		return false;
	ar_buf_clear(&w->file);
	while ((n = fread(piece, 1, sizeof piece, file)) > 0)
		ar_buf_add(&w->file, piece, n);
	fclose(file);
	return true;
}

/* One key or a set of them, as the document of an issuer. */
static void read_keys(struct world *w, struct ar_json group, struct ar_jwks *set)
{
	static const char *const names[] = { "public", "publicKeyJwk", "keyJwk", "private" };
	struct ar_buf text = { 0 };
	struct ar_json key = { 0 };
	const char *why;

	for (size_t i = 0; i < AR_ARRAY_LEN(names) && ar_json_type(key) == AR_JSON_NONE; i++)
		key = ar_json_get(group, names[i]);
	if (ar_json_type(ar_json_get(key, "keys")) == AR_JSON_ARRAY) {
		ar_json_print(key, &text);
	} else {
		ar_buf_add(&text, "{\"keys\":[", 9);
		ar_json_print(key, &text);
		ar_buf_add(&text, "]}", 2);
	}
	ar_jwks_read(set, w->inner, ar_buf_str(&text), &why);
	ar_buf_fini(&text);
}

static struct ar_str from_hex(struct ar_arena *a, struct ar_str hex)
{
	char *bytes = ar_arena_alloc(a, hex.len / 2 + 1);

	for (size_t i = 0; i < hex.len / 2; i++) {
		char digits[3] = { hex.p[2 * i], hex.p[2 * i + 1], '\0' };

		bytes[i] = (char)strtoul(digits, NULL, 16);
	}
	return (struct ar_str){ bytes, hex.len / 2 };
}

/* Whether it is taken; `ret_is_ours`: it could have been, by its form, its algorithm and the keys. */
static bool is_token_taken(struct world *w, const struct ar_jwks *set, struct ar_str text, bool *ret_is_ours)
{
	struct ar_jwt t;
	const char *why;

	*ret_is_ours = ar_jwt_parse(w->inner, text, &w->a, &t, &why) && ar_jwks_has(set, &t);
	return *ret_is_ours && ar_jwks_verify(set, &t);
}

static bool is_signature_taken(struct world *w, const struct ar_jwks *set, struct ar_json test,
			       bool *ret_is_ours)
{
	struct ar_jwt t = { .kid = AR_STR_NONE,
			    .input = from_hex(&w->a, text_of(test, "msg")),
			    .signature = from_hex(&w->a, text_of(test, "sig")) };

	*ret_is_ours = set->count == 1;
	t.alg = *ret_is_ours ? set->keys[0].alg : AR_JWT_NONE;
	return ar_jwks_verify(set, &t);
}

static void run_vector(struct world *w, const struct ar_jwks *set, struct ar_json test, const char *file)
{
	struct ar_str jws = text_of(test, "jws"), result = text_of(test, "result");
	bool is_ours, is_taken;
	int64_t id = 0;

	is_taken = ar_str_absent(jws) ? is_signature_taken(w, set, test, &is_ours)
				      : is_token_taken(w, set, jws, &is_ours);
	ar_json_i64(ar_json_get(test, "tcId"), &id);
	w->taken += is_taken;
	w->refused += !is_taken && is_ours;
	w->not_for_us += !is_taken && !is_ours;
	if (ar_str_is(result, "invalid") ? !is_taken
					 : is_taken || !is_ours || ar_str_is(result, "acceptable"))
		return;
	w->wrong++;
	print_error("%s %lld (%.*s) is %s though it is %.*s\n", file, (long long)id,
		    AR_STR_ARG(text_of(test, "comment")), is_taken ? "taken" : "refused", AR_STR_ARG(result));
}

static void run_file(struct world *w, const char *name)
{
	struct ar_json doc;

	if (!read_file(w, name))
		fail_msg("AR_WYCHEPROOF has no %s", name);
	assert_int_equal(ar_json_parse(w->outer, ar_buf_str(&w->file), &doc, NULL), AR_OK);
	w->taken = w->refused = w->not_for_us = 0;
	for (struct ar_json_iter groups = ar_json_iter(ar_json_get(doc, "testGroups"));
	     ar_json_next(&groups);) {
		struct ar_jwks set = { 0 };

		read_keys(w, groups.value, &set);
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(groups.value, "tests"));
		     ar_json_next(&it);)
			run_vector(w, &set, it.value, name);
		ar_jwks_fini(&set);
	}
	print_message("%s: %u taken, %u refused, %u not for us\n", name, w->taken, w->refused, w->not_for_us);
}

static void test_vectors(void **state AR_UNUSED)
{
	static const char *const files[] = {
		"json_web_signature_test.json",
		"json_web_key_test.json",
		"json_web_crypto_test.json",
		"ecdsa_secp256r1_sha256_p1363_test.json",
		"ed25519_test.json",
		"rsa_signature_2048_sha256_test.json",
		"rsa_signature_3072_sha256_test.json",
		"rsa_signature_4096_sha256_test.json",
		"rsa_signature_8192_sha256_test.json",
	};
	struct world w = { 0 };

	if (!getenv("AR_WYCHEPROOF"))
		skip();
	w.outer = ar_json_parser_new();
	w.inner = ar_json_parser_new();
	for (size_t i = 0; i < AR_ARRAY_LEN(files); i++)
		run_file(&w, files[i]);
	assert_int_equal(w.wrong, 0);
	ar_buf_fini(&w.file);
	ar_arena_fini(&w.a);
	ar_json_parser_free(w.outer);
	ar_json_parser_free(w.inner);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_vectors) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
