/* Fuzz target: a token, a NUL, a document of keys, as anybody on the network may send the first and an issuer
 * the second. A token that is taken apart is within its bounds, a refusal says why, and nothing is verified
 * by keys that do not fit. */
#include "claims.h"
#include "jwk.h"

#include <string.h>

#define NOW ((ar_usec)1800000000 * 1000000)

static struct ar_json_parser *parser;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc AR_UNUSED, char ***argv AR_UNUSED)
{
	parser = ar_json_parser_new();
	return 0;
}

static void judge(struct ar_str text, struct ar_arena *a)
{
	struct ar_claim_rules rules = { .issuer = AR_STR("i"),
					.audience = AR_STR("a"),
					.tenant_claim = AR_STR("t"),
					.scope_claim = AR_STR("scope"),
					.scope_prefix = AR_STR(""),
					.leeway = 1000000 };
	struct ar_principal who;
	const char *why = NULL;
	struct ar_json claims;

	if (ar_json_parse(parser, text, &claims, NULL) != AR_OK)
		return;
	if (ar_claims_check(&rules, claims, NOW, a, &who, &why))
		AR_ASSERT(who.tenant.len && who.actor.len && who.token.len && who.until > NOW &&
			  !(who.rights & ~(unsigned)AR_RIGHT_ALL));
	else
		AR_ASSERT(why && *why);
}

static void hold_against_keys(const struct ar_jwt *t, struct ar_str document)
{
	struct ar_jwks set = { 0 };
	const char *why = NULL;

	if (!ar_jwks_read(&set, parser, document, &why)) {
		AR_ASSERT(why && *why && !set.count);
		return;
	}
	AR_ASSERT(set.count <= AR_JWK_MAX);
	AR_ASSERT(!ar_jwks_verify(&set, t) || ar_jwks_has(&set, t));
	ar_jwks_fini(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_str text = { (const char *)bytes, len }, token, document;
	struct ar_arena a = { 0 };
	const char *why = NULL;
	struct ar_jwt t;

	document = ar_str_split(text, '\0', &token);
	if (ar_jwt_parse(parser, token, &a, &t, &why)) {
		AR_ASSERT(t.alg != AR_JWT_NONE && t.input.len < token.len && token.len <= AR_JWT_MAX);
		judge(t.claims, &a);
		if (!ar_str_absent(document))
			hold_against_keys(&t, document);
	} else {
		AR_ASSERT(why && *why);
	}
	judge(document, &a);
	ar_arena_fini(&a);
	return 0;
}
