/* Tokens that are wrong in one place, and the right ones beside them: every kind of mistake that verifiers of
 * signed tokens have been known for. The keys are made here, so a signature is as good as its maker could
 * have made it. */
#include "claims.h"
#include "cmocka_unit.h"
#include "forge.h"
#include "jwk.h"

#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <string.h>

#define BLOCK 256 /* bytes of an RSA key of 2048 bits */

static struct {
	struct ar_json_parser *json;
	struct ar_arena a;
	EVP_PKEY *rsa, *ec, *ed, *stranger;
	struct ar_jwks set;
} w;

static int set_up(void **state AR_UNUSED)
{
	struct ar_str text;
	const char *why;

	w.json = ar_json_parser_new();
	w.rsa = forge_rsa(2048);
	w.stranger = forge_rsa(2048);
	w.ec = forge_ec("P-256");
	w.ed = forge_ed();
	text = ar_arena_fmt(&w.a, "{\"keys\":[%.*s,%.*s,%.*s]}", AR_STR_ARG(forge_jwk(&w.a, w.rsa, "r", "")),
			    AR_STR_ARG(forge_jwk(&w.a, w.ec, "e", "")),
			    AR_STR_ARG(forge_jwk(&w.a, w.ed, "d", "")));
	assert_true(ar_jwks_read(&w.set, w.json, text, &why));
	assert_int_equal(w.set.count, 3);
	return 0;
}

static int tear_down(void **state AR_UNUSED)
{
	EVP_PKEY *keys[] = { w.rsa, w.stranger, w.ec, w.ed };

	for (size_t i = 0; i < AR_ARRAY_LEN(keys); i++)
		EVP_PKEY_free(keys[i]);
	ar_jwks_fini(&w.set);
	ar_arena_fini(&w.a);
	ar_json_parser_free(w.json);
	return 0;
}

static bool is_taken(struct ar_str text)
{
	struct ar_jwt t;
	const char *why;

	return ar_jwt_parse(w.json, text, &w.a, &t, &why) && ar_jwks_verify(&w.set, &t);
}

#define assert_taken(token) assert_judged(token, true, #token, __LINE__)
#define assert_refused(token) assert_judged(token, false, #token, __LINE__)

static void assert_judged(struct ar_str token, bool wanted, const char *what, int line)
{
	if (is_taken(token) == wanted)
		return;
	print_error("%s: %s\n", wanted ? "refused" : "taken", what);
	_fail(__FILE__, line);
}

/* ---- signed as they should be, under any header ---- */

static struct ar_str by_rsa(const char *header)
{
	struct ar_str input = forge_input(&w.a, header, CLAIMS);

	return forge_token(&w.a, input, forge_sign(&w.a, w.rsa, "SHA256", input));
}

static struct ar_str by_ec(const char *header)
{
	struct ar_str input = forge_input(&w.a, header, CLAIMS);

	return forge_token(&w.a, input, forge_raw_ec(&w.a, forge_sign(&w.a, w.ec, "SHA256", input), false));
}

static struct ar_str by_ed(const char *header)
{
	struct ar_str input = forge_input(&w.a, header, CLAIMS);

	return forge_token(&w.a, input, forge_sign(&w.a, w.ed, NULL, input));
}

static void test_right_ones(void **state AR_UNUSED)
{
	assert_taken(by_rsa("{\"alg\":\"RS256\",\"kid\":\"r\"}"));
	assert_taken(by_rsa("{\"alg\":\"RS256\"}"));
	assert_taken(by_rsa(" {\"typ\" : \"JWT\",\n\"alg\":\"\\u0052S256\"}"));
	assert_taken(by_ec("{\"alg\":\"ES256\",\"kid\":\"e\"}"));
	assert_taken(by_ed("{\"alg\":\"EdDSA\",\"kid\":\"d\"}"));
}

/* Every header here is signed by the right key: the header alone is why it is refused. */
static void test_headers(void **state AR_UNUSED)
{
	static const char *const headers[] = {
		"{\"alg\":\"none\",\"kid\":\"r\"}",
		"{\"alg\":\"None\"}",
		"{\"alg\":\"\"}",
		"{\"alg\":\"rs256\"}",
		"{\"alg\":\"RS256 \"}",
		"{\"alg\":\"RS256\\u0000\"}",
		"{\"alg\":\"HS256\",\"kid\":\"r\"}",
		"{\"alg\":\"RS384\",\"kid\":\"r\"}",
		"{\"alg\":\"PS256\",\"kid\":\"r\"}",
		"{\"alg\":\"ES256\",\"kid\":\"r\"}",
		"{\"alg\":\"EdDSA\"}",
		"{\"alg\":[\"RS256\"]}",
		"{\"alg\":null}",
		"{\"kid\":\"r\"}",
		"{\"alg\":\"RS256\",\"alg\":\"RS256\"}",
		"{\"alg\":\"none\",\"alg\":\"RS256\"}",
		"{\"alg\":\"RS256\",\"\\u0061lg\":\"none\"}",
		"{\"alg\":\"RS256\",\"crit\":[\"exp\"],\"exp\":1}",
		"{\"alg\":\"RS256\",\"crit\":[]}",
		"{\"alg\":\"RS256\",\"crit\":null}",
		"{\"alg\":\"RS256\",\"b64\":false,\"crit\":[\"b64\"]}",
		"{\"alg\":\"RS256\",\"kid\":\"e\"}",
		"{\"alg\":\"RS256\",\"kid\":\"R\"}",
		"{\"alg\":\"RS256\",\"kid\":\"r\\u0000\"}",
		"{\"alg\":\"RS256\",\"kid\":\"\"}",
		"{\"alg\":\"RS256\",\"kid\":[\"r\"]}",
		"{\"alg\":\"RS256\",\"kid\":\"r\",\"kid\":\"r\"}",
		"{\"alg\":\"RS256\",\"cty\":\"JWT\"}",
		"{\"alg\":\"RS256\",\"cty\":\"jwt\"}",
		"[\"RS256\"]",
		"\"RS256\"",
		"{\"alg\":\"RS256\"} ,",
		"{\"alg\":\"RS256\"",
		"{'alg':'RS256'}",
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(headers); i++) {
		if (is_taken(by_rsa(headers[i])))
			fail_msg("taken: %s", headers[i]);
	}
}

/* A public key is known to everybody: it must never be the secret of a MAC. */
static void test_public_key_as_secret(void **state AR_UNUSED)
{
	struct ar_str input = forge_input(&w.a, "{\"alg\":\"HS256\",\"kid\":\"r\"}", CLAIMS);
	BIO *pem = BIO_new(BIO_s_mem());
	unsigned char mac[32];
	unsigned len = sizeof mac;
	char *secret;
	long size;

	assert_int_equal(PEM_write_bio_PUBKEY(pem, w.rsa), 1);
	size = BIO_get_mem_data(pem, &secret);
	HMAC(EVP_sha256(), secret, (int)size, (const unsigned char *)input.p, input.len, mac, &len);
	assert_refused(forge_token(&w.a, input, (struct ar_str){ (char *)mac, len }));
	BIO_free(pem);
}

/* A header names keys of its own, or where they are. */
static void test_keys_of_the_token(void **state AR_UNUSED)
{
	static const char *const more[] = { "\"jku\":\"http://127.0.0.1:1/keys\"",
					    "\"x5u\":\"http://127.0.0.1:1/c\"",
					    "\"x5c\":[\"MII\"]",
					    "\"x5t\":\"abc\"",
					    "\"kid\":\"r\"",
					    "\"typ\":\"JWT\"" };
	struct ar_str own = forge_jwk(&w.a, w.stranger, "r", ""), input;

	input = forge_input(&w.a, ar_arena_fmt(&w.a, "{\"alg\":\"RS256\",\"jwk\":%.*s}", AR_STR_ARG(own)).p,
			    CLAIMS);
	assert_refused(forge_token(&w.a, input, forge_sign(&w.a, w.stranger, "SHA256", input)));
	for (size_t i = 0; i < AR_ARRAY_LEN(more); i++) {
		input = forge_input(&w.a, ar_arena_fmt(&w.a, "{\"alg\":\"RS256\",%s}", more[i]).p, CLAIMS);
		assert_refused(forge_token(&w.a, input, forge_sign(&w.a, w.stranger, "SHA256", input)));
	}
}

/* ---- form ---- */

static struct ar_str changed(struct ar_str text, size_t at, char c)
{
	char *copy = (char *)ar_arena_str(&w.a, text).p;

	copy[at] = c;
	return (struct ar_str){ copy, text.len };
}

/* `piece` put in at a place. */
static struct ar_str with(struct ar_str text, size_t at, struct ar_str piece)
{
	struct ar_str parts[] = { ar_str_sub(text, 0, at), piece, ar_str_sub(text, at, text.len - at) };

	return ar_arena_join(&w.a, parts, AR_ARRAY_LEN(parts));
}

static void test_base64(void **state AR_UNUSED)
{
	static const struct ar_str pieces[] = { AR_STR("="), AR_STR(" "),	 AR_STR("\n"), AR_STR("\r\n"),
						AR_STR("+"), AR_STR("/"),	 AR_STR("."),  AR_STR("%3D"),
						{ "\0", 1 }, AR_STR("\xc3\xa4"), AR_STR("A=") };
	struct ar_str good = by_ed("{\"alg\":\"EdDSA\"}");
	size_t dot = (size_t)((const char *)memchr(good.p, '.', good.len) - good.p);
	size_t places[] = { 0, 2, dot, dot + 1, dot + 3, good.len - 1, good.len };

	assert_taken(good);
	for (size_t i = 0; i < AR_ARRAY_LEN(pieces); i++) {
		for (size_t k = 0; k < AR_ARRAY_LEN(places); k++)
			assert_refused(with(good, places[k], pieces[i]));
	}
	/* 64 bytes are 86 letters: the last one has four bits that mean nothing, and must be zero. */
	assert_int_equal(strchr("AQgw", good.p[good.len - 1]) != NULL, 1);
	assert_refused(changed(good, good.len - 1, (char)(good.p[good.len - 1] + 1)));
	assert_refused(ar_str_sub(good, 0, dot));
	assert_refused(AR_STR(".."));
	assert_refused(AR_STR(""));
	assert_refused(ar_arena_fmt(&w.a, "{\"payload\":\"%.*s\"}", AR_STR_ARG(good)));
}

static void test_lengths_of_signatures(void **state AR_UNUSED)
{
	static const struct {
		struct ar_str (*make)(const char *header);
		const char *header;
	} kinds[] = { { by_rsa, "{\"alg\":\"RS256\"}" },
		      { by_ec, "{\"alg\":\"ES256\"}" },
		      { by_ed, "{\"alg\":\"EdDSA\"}" } };

	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		struct ar_arena *a = &w.a;
		struct ar_str input = forge_input(a, kinds[i].header, CLAIMS), sig,
			      token = kinds[i].make(kinds[i].header);
		struct ar_jwt t;
		const char *why;

		assert_true(ar_jwt_parse(w.json, token, a, &t, &why));
		sig = t.signature;
		assert_taken(forge_token(a, input, sig));
		assert_refused(forge_token(a, input, AR_STR("")));
		assert_refused(forge_token(a, input, ar_str_sub(sig, 0, sig.len - 1)));
		assert_refused(forge_token(a, input, ar_str_sub(sig, 1, sig.len - 1)));
		assert_refused(forge_token(a, input, ar_str_sub(sig, 0, sig.len / 2)));
		assert_refused(forge_token(a, input, with(sig, sig.len, (struct ar_str){ "\0", 1 })));
		assert_refused(forge_token(a, input, with(sig, 0, (struct ar_str){ "\0", 1 })));
		assert_refused(forge_token(a, input, with(sig, sig.len, sig)));
		assert_refused(forge_token(a, input, changed(sig, 7, (char)(sig.p[7] ^ 1))));
		assert_refused(forge_token(a, forge_input(a, kinds[i].header, "{\"sub\":\"eve\"}"), sig));
	}
}

/* ---- ECDSA and EdDSA ---- */

#define N256 \
	"\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xbc\xe6\xfa\xad\xa7\x17\x9e\x84" \
	"\xf3\xb9\xca\xc2\xfc\x63\x25\x51"

/* Numbers that a sloppy verifier takes for any message: 0, 1, n-1, n, n+1 and the largest. */
static void test_numbers_of_ec(void **state AR_UNUSED)
{
	struct ar_str input = forge_input(&w.a, "{\"alg\":\"ES256\"}", CLAIMS);
	unsigned char numbers[6][32] = { { 0 }, { [31] = 1 } };
	unsigned char sig[64];

	for (size_t i = 2; i < 5; i++) {
		memcpy(numbers[i], N256, 32);
		numbers[i][31] = (unsigned char)(numbers[i][31] + i - 3);
	}
	memset(numbers[5], 0xff, 32);
	for (size_t i = 0; i < 36; i++) {
		memcpy(sig, numbers[i / 6], 32);
		memcpy(sig + 32, numbers[i % 6], 32);
		assert_refused(forge_token(&w.a, input, (struct ar_str){ (char *)sig, sizeof sig }));
	}
}

static void test_forms_of_ec(void **state AR_UNUSED)
{
	struct ar_str input = forge_input(&w.a, "{\"alg\":\"ES256\",\"kid\":\"e\"}", CLAIMS);
	struct ar_str der = forge_sign(&w.a, w.ec, "SHA256", input);
	EVP_PKEY *other = forge_ec("secp256k1");

	assert_refused(forge_token(&w.a, input, der));
	assert_refused(
		forge_token(&w.a, input, forge_raw_ec(&w.a, forge_sign(&w.a, w.ec, "SHA384", input), false)));
	assert_refused(forge_token(&w.a, input,
				   forge_raw_ec(&w.a, forge_sign(&w.a, other, "SHA256", input), false)));
	/* Who has a signature (r, s) has (r, n-s) too: the algorithm allows it, so a token's text says
	 * nothing about which one it is. */
	assert_taken(forge_token(&w.a, input, forge_raw_ec(&w.a, der, true)));
	EVP_PKEY_free(other);
}

/* S is a number below the order L: S+L must not be another name of it. */
static void test_numbers_of_ed(void **state AR_UNUSED)
{
	static const unsigned char order[32] = { 0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58,       0xd6,
						 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, [31] = 0x10 };
	struct ar_str input = forge_input(&w.a, "{\"alg\":\"EdDSA\"}", CLAIMS);
	struct ar_str sig = forge_sign(&w.a, w.ed, NULL, input);
	unsigned char more[64], zero[64] = { 0 };
	unsigned carry = 0;

	memcpy(more, sig.p, sizeof more);
	for (size_t i = 0; i < 32; i++) {
		carry += (unsigned)more[32 + i] + order[i];
		more[32 + i] = (unsigned char)carry;
		carry >>= 8;
	}
	assert_taken(forge_token(&w.a, input, sig));
	assert_refused(forge_token(&w.a, input, (struct ar_str){ (char *)more, sizeof more }));
	assert_refused(forge_token(&w.a, input, (struct ar_str){ (char *)zero, sizeof zero }));
}

/* ---- RSA ---- */

#define OID256 "\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01"
#define INFO "\x30\x31\x30\x0d" OID256 "\x05\x00\x04\x20" /* of SHA-256; the digest follows */
#define BYTES(literal) \
	{ \
		literal, sizeof literal - 1 \
	}

/* A block of 256 bytes: `head`, padding of ff, zero, `info`, digest, `tail`. */
static const struct block {
	struct ar_str head, info, tail;
	char fill;
	bool is_right;
} blocks[] = {
	{ BYTES("\x00\x01"), BYTES("\x00" INFO), BYTES(""), '\xff', true },
	{ BYTES("\x00\x02"), BYTES("\x00" INFO), BYTES(""), '\xff', false },
	{ BYTES("\x01\x01"), BYTES("\x00" INFO), BYTES(""), '\xff', false },
	{ BYTES("\x00\x00"), BYTES("\x00" INFO), BYTES(""), '\xff', false },
	{ BYTES("\x00\x01"), BYTES("\x00" INFO), BYTES(""), '\xfe', false },
	{ BYTES("\x00\x01"), BYTES("\x00" INFO), BYTES(""), '\x00', false },
	{ BYTES("\x00\x01"), BYTES("\xff" INFO), BYTES(""), '\xff', false }, /* no end of the padding */
	{ BYTES("\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\x00" INFO), BYTES(""), BYTES(""), '\x00', false },
	{ BYTES("\x00\x01"), BYTES("\x00" INFO), BYTES("\x00"), '\xff', false }, /* behind the digest */
	{ BYTES("\x00\x01"), BYTES("\x00" INFO), BYTES("garbage"), '\xff', false },
	{ BYTES("\x00\x01"), BYTES("\x00" INFO), BYTES("\x05\x00"), '\xff', false },
	{ BYTES("\x00\x01"), BYTES("\x00\x30\x2f\x30\x0b" OID256 "\x04\x20"), BYTES(""), '\xff',
	  false }, /* without NULL */
	{ BYTES("\x00\x01"), BYTES("\x00\x30\x32\x30\x0e" OID256 "\x05\x01\x00\x04\x20"), BYTES(""), '\xff',
	  false },
	{ BYTES("\x00\x01"), BYTES("\x00\x30\x81\x31\x30\x0d" OID256 "\x05\x00\x04\x20"), BYTES(""), '\xff',
	  false }, /* BER */
	{ BYTES("\x00\x01"), BYTES("\x00\x30\x32\x30\x0d" OID256 "\x05\x00\x04\x81\x20"), BYTES(""), '\xff',
	  false },
	{ BYTES("\x00\x01"), BYTES("\x00\x30\x80\x30\x0d" OID256 "\x05\x00\x04\x20"), BYTES("\x00\x00"),
	  '\xff', false },
	{ BYTES("\x00\x01"),
	  BYTES("\x00\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x02\x05\x00\x04\x20"),
	  BYTES(""), '\xff', false }, /* SHA-384 */
	{ BYTES("\x00\x01"), BYTES("\x00\x04\x20"), BYTES(""), '\xff', false }, /* no algorithm */
	{ BYTES("\x00\x01"), BYTES("\x00"), BYTES(""), '\xff', false }, /* the digest alone */
};

static struct ar_str build(const struct block *b, struct ar_str digest)
{
	char *out = ar_arena_alloc(&w.a, BLOCK);
	size_t end = b->info.len + digest.len + b->tail.len;

	memset(out, b->fill, BLOCK);
	memcpy(out, b->head.p, b->head.len);
	memcpy(out + BLOCK - end, b->info.p, b->info.len);
	memcpy(out + BLOCK - end + b->info.len, digest.p, digest.len);
	memcpy(out + BLOCK - b->tail.len, b->tail.p, b->tail.len);
	if (!b->info.len) /* all is at the front, and what follows is ours to choose: the forgery of 2006 */
		memcpy(out + b->head.len, digest.p, digest.len);
	return (struct ar_str){ out, BLOCK };
}

static void test_blocks_of_rsa(void **state AR_UNUSED)
{
	struct ar_str input = forge_input(&w.a, "{\"alg\":\"RS256\"}", CLAIMS);
	unsigned char bytes[SHA256_DIGEST_LENGTH];
	struct ar_str digest = { (char *)bytes, sizeof bytes };

	SHA256((const unsigned char *)input.p, input.len, bytes);
	for (size_t i = 0; i < AR_ARRAY_LEN(blocks); i++) {
		struct ar_str block = build(&blocks[i], digest);
		/* A block that begins with 01 is over the modulus: nobody can sign that. */
		struct ar_str sig = block.p[0] ? block : forge_rsa_block(&w.a, w.rsa, block);

		if (is_taken(forge_token(&w.a, input, sig)) != blocks[i].is_right)
			fail_msg("block %zu", i);
	}
}

static void test_other_signatures_of_rsa(void **state AR_UNUSED)
{
	struct ar_str input = forge_input(&w.a, "{\"alg\":\"RS256\"}", CLAIMS);
	struct ar_str ps = forge_input(&w.a, "{\"alg\":\"PS256\"}", CLAIMS);
	static char ones[BLOCK], zeros[BLOCK], one[BLOCK] = { [BLOCK - 1] = 1 };

	memset(ones, 0xff, BLOCK);
	assert_refused(forge_token(&w.a, input, forge_sign_pss(&w.a, w.rsa, input)));
	assert_refused(forge_token(&w.a, ps, forge_sign_pss(&w.a, w.rsa, ps)));
	assert_refused(forge_token(&w.a, input, forge_sign(&w.a, w.rsa, "SHA1", input)));
	assert_refused(forge_token(&w.a, input, forge_sign(&w.a, w.rsa, "SHA512", input)));
	assert_refused(forge_token(&w.a, input, (struct ar_str){ zeros, BLOCK }));
	assert_refused(forge_token(&w.a, input, (struct ar_str){ one, BLOCK }));
	assert_refused(forge_token(&w.a, input, (struct ar_str){ ones, BLOCK }));
}

/* ---- keys ---- */

static bool is_key_usable(struct ar_str jwk)
{
	struct ar_str text = ar_arena_fmt(&w.a, "{\"keys\":[%.*s]}", AR_STR_ARG(jwk));
	struct ar_jwks set = { 0 };
	const char *why;
	bool is_usable = ar_jwks_read(&set, w.json, text, &why);

	ar_jwks_fini(&set);
	return is_usable;
}

static void test_what_a_key_is_for(void **state AR_UNUSED)
{
	static const struct {
		const char *more;
		bool is_usable;
	} rows[] = {
		{ "", true },
		{ ",\"use\":\"sig\",\"alg\":\"RS256\",\"key_ops\":[\"verify\"]", true },
		{ ",\"key_ops\":[\"sign\",\"verify\"]", true },
		{ ",\"key_ops\":[\"encrypt\"]", false },
		{ ",\"key_ops\":[\"sign\"]", false },
		{ ",\"key_ops\":[]", false },
		{ ",\"key_ops\":\"encrypt\"", false },
		{ ",\"use\":\"enc\"", false },
		{ ",\"alg\":\"PS256\"", false },
		{ ",\"alg\":\"HS256\"", false },
		{ ",\"alg\":\"ES256\"", false },
		{ ",\"alg\":\"RSA-OAEP\"", false },
		{ ",\"kty\":\"oct\"", false }, /* twice: the document is refused */
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		if (is_key_usable(forge_jwk(&w.a, w.rsa, "k", rows[i].more)) != rows[i].is_usable)
			fail_msg("%s", rows[i].more);
	}
}

/* A modulus that is a power of 65537 modulo every small prime: one itself, a power large enough to have 2048
 * bits. */
static struct ar_str roca_modulus(void)
{
	BIGNUM *n = BN_new(), *base = BN_new(), *power = BN_new();
	BN_CTX *ctx = BN_CTX_new();
	unsigned char out[BLOCK];

	BN_set_word(base, 65537);
	BN_set_word(power, 127); /* 127 * 16 bits and a little: 2033 bits, below 2048 */
	BN_exp(n, base, power, ctx);
	BN_mul_word(n, 65537);
	assert_true(BN_num_bits(n) >= 2048);
	BN_bn2bin(n, out);
	struct ar_str text = forge_base64url(&w.a, (struct ar_str){ (char *)out, (size_t)BN_num_bytes(n) });

	BN_free(n);
	BN_free(base);
	BN_free(power);
	BN_CTX_free(ctx);
	return text;
}

static struct ar_str rsa_jwk(struct ar_str n, const char *e)
{
	return ar_arena_fmt(&w.a, "{\"kty\":\"RSA\",\"n\":\"%.*s\",\"e\":\"%s\"}", AR_STR_ARG(n), e);
}

static void test_weak_keys(void **state AR_UNUSED)
{
	struct ar_str n = forge_number(&w.a, w.rsa, "n", 0), even = changed(n, n.len - 1, 'A');
	EVP_PKEY *small = forge_rsa(1024), *almost = forge_rsa(2040);

	assert_true(is_key_usable(rsa_jwk(n, "AQAB")));
	assert_true(is_key_usable(rsa_jwk(n, "Aw")));
	assert_false(is_key_usable(rsa_jwk(n, "AQ"))); /* one: everybody can sign */
	assert_false(is_key_usable(rsa_jwk(n, "AA")));
	assert_false(is_key_usable(rsa_jwk(n, "Ag")));
	assert_false(is_key_usable(rsa_jwk(n, "")));
	assert_false(is_key_usable(rsa_jwk(even, "AQAB")));
	assert_false(is_key_usable(rsa_jwk(AR_STR("AQ"), "AQAB")));
	assert_false(is_key_usable(rsa_jwk(roca_modulus(), "AQAB")));
	assert_false(is_key_usable(forge_jwk(&w.a, small, "s", "")));
	assert_false(is_key_usable(forge_jwk(&w.a, almost, "s", "")));
	EVP_PKEY_free(small);
	EVP_PKEY_free(almost);
}

static void test_points_off_the_curve(void **state AR_UNUSED)
{
	EVP_PKEY *other = forge_ec("secp256k1"), *large = forge_ec("P-384");
	struct ar_str x = forge_number(&w.a, w.ec, "qx", 32), y = forge_number(&w.a, w.ec, "qy", 32);

	assert_true(is_key_usable(forge_jwk(&w.a, w.ec, "e", "")));
	assert_false(is_key_usable(forge_jwk(&w.a, other, "e", "")));
	assert_false(is_key_usable(
		ar_arena_fmt(&w.a, "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"%.*s\",\"y\":\"%.*s\"}",
			     AR_STR_ARG(y), AR_STR_ARG(x))));
	assert_false(is_key_usable(
		ar_arena_fmt(&w.a, "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"%.*s\",\"y\":\"%.*s\"}",
			     AR_STR_ARG(forge_number(&w.a, large, "qx", 48)),
			     AR_STR_ARG(forge_number(&w.a, large, "qy", 48)))));
	assert_false(is_key_usable(
		ar_arena_fmt(&w.a, "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"%.*s\"}", AR_STR_ARG(x))));
	assert_false(is_key_usable(AR_STR("{\"kty\":\"oct\",\"k\":\"c2VjcmV0\",\"alg\":\"HS256\"}")));
	EVP_PKEY_free(other);
	EVP_PKEY_free(large);
}

/* ---- claims ---- */

static bool are_claims_good(const char *exp)
{
	const struct ar_claim_rules rules = { .issuer = AR_STR("i"),
					      .audience = AR_STR("a"),
					      .tenant = AR_STR("t"),
					      .scope_claim = AR_STR("scope"),
					      .scope_prefix = AR_STR("") };
	struct ar_str text = ar_arena_fmt(&w.a, "{\"iss\":\"i\",\"aud\":\"a\",%s}", exp);
	struct ar_principal who;
	const char *why;
	struct ar_json doc;

	return ar_json_parse(w.json, text, &doc, NULL) == AR_OK &&
	       ar_claims_check(&rules, doc, (ar_usec)1800000000 * 1000000, &w.a, &who, &why);
}

static void test_claims(void **state AR_UNUSED)
{
	static const char *const wrong[] = {
		"\"sub\":\"ada\",\"exp\":1e308",
		"\"sub\":\"ada\",\"exp\":9223372036854775807",
		"\"sub\":\"ada\",\"exp\":18446744073709551615",
		"\"sub\":\"ada\",\"exp\":99999999999999999999999999",
		"\"sub\":\"ada\",\"exp\":-9223372036854775808",
		"\"sub\":\"ada\",\"exp\":1799999999.999",
		"\"sub\":\"ada\",\"exp\":\"1900000000\"",
		"\"sub\":\"ada\",\"exp\":[1900000000]",
		"\"sub\":\"ada\",\"exp\":NaN",
		"\"sub\":\"ada\",\"exp\":1900000000,\"nbf\":1e308",
		"\"sub\":\"ada\",\"exp\":1900000000,\"nbf\":9223372036854775807",
		"\"sub\":\"ada\",\"exp\":1900000000,\"nbf\":null",
		"\"sub\":\"ada\\u0000\",\"exp\":1900000000",
		"\"sub\":\"\\u0000\",\"exp\":1900000000",
		"\"sub\":\"ada\",\"exp\":1,\"exp\":1900000000",
		"\"sub\":{\"sub\":\"ada\"},\"exp\":1900000000",
	};

	assert_true(are_claims_good("\"sub\":\"ada\",\"exp\":1900000000"));
	assert_true(are_claims_good("\"sub\":\"ada\",\"exp\":1.9e9,\"nbf\":0"));
	for (size_t i = 0; i < AR_ARRAY_LEN(wrong); i++) {
		if (are_claims_good(wrong[i]))
			fail_msg("taken: %s", wrong[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right_ones),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_public_key_as_secret),
		cmocka_unit_test(test_keys_of_the_token),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_lengths_of_signatures),
		cmocka_unit_test(test_numbers_of_ec),
		cmocka_unit_test(test_forms_of_ec),
		cmocka_unit_test(test_numbers_of_ed),
		cmocka_unit_test(test_blocks_of_rsa),
		cmocka_unit_test(test_other_signatures_of_rsa),
		cmocka_unit_test(test_what_a_key_is_for),
		cmocka_unit_test(test_weak_keys),
		cmocka_unit_test(test_points_off_the_curve),
		cmocka_unit_test(test_claims),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
