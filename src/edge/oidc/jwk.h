/* The public keys of an issuer: a JWKS document made into keys that can verify. What cannot be used (other
 * kinds, too weak, not for signatures) is passed over. Single-owner. */
#ifndef AR_OIDC_JWK_H
#define AR_OIDC_JWK_H

#include "jwt.h"

#define AR_JWK_MAX 64 /* keys of one issuer */

struct ar_jwk {
	char *kid; /* owned; NULL: it has none */
	enum ar_jwt_alg alg; /* the one that this key verifies: what it is decides, never the token */
	struct evp_pkey_st *key;
};

struct ar_jwks {
	struct ar_jwk keys[AR_JWK_MAX];
	size_t count;
};

/* Replaces what was there when there is at least one key that can be used; false, with a sentence,
 * otherwise. */
bool ar_jwks_read(struct ar_jwks *set, struct ar_json_parser *parser, struct ar_str text,
		  const char **ret_why);
void ar_jwks_fini(struct ar_jwks *set);

/* Whether any key could be the one that the token names: its kid, and fit for its alg. */
bool ar_jwks_has(const struct ar_jwks *set, const struct ar_jwt *t);

/* Whether a key of the set signed the token. Without a kid all that fit are tried. */
bool ar_jwks_verify(const struct ar_jwks *set, const struct ar_jwt *t);

#endif
