/* What a verified token says: whether it is meant for us and now, and who it is. Pure. */
#ifndef AR_OIDC_CLAIMS_H
#define AR_OIDC_CLAIMS_H

#include "auth.h"
#include "json.h"

/* What is asked of a token; text is borrowed. */
struct ar_claim_rules {
	struct ar_str issuer, audience;
	struct ar_str tenant_claim; /* empty: all are of `tenant` */
	struct ar_str tenant;
	bool may_be_local; /* the claim may name the tenant of the server's own administrators */
	struct ar_str scope_claim, scope_prefix;
	ar_usec leeway;
};

/* Text of `ret` lives in the arena. False, with a sentence, for a token that is not for us,
 * not for now, or of nobody. */
bool ar_claims_check(const struct ar_claim_rules *rules, struct ar_json claims, ar_usec now,
		     struct ar_arena *a, struct ar_principal *ret, const char **ret_why);

#endif
