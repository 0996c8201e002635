/* See claims.h. */
#include "claims.h"
#include "id.h"

#include <string.h>

#define SECOND ((ar_usec)1000000)
#define SUBJECT_MAX 128
#define TENANT_MAX 64
#define NAME_MAX_BYTES 128
#define TIME_MAX (INT64_MAX / SECOND / 2)

static bool fail(const char **ret_why, const char *why)
{
	*ret_why = why;
	return false;
}

/* A member whose name comes from the configuration. */
static struct ar_json member(struct ar_json v, struct ar_str name)
{
	char text[NAME_MAX_BYTES];

	if (name.len >= sizeof text)
		return (struct ar_json){ 0 };
	memcpy(text, name.p, name.len);
	text[name.len] = '\0';
	return ar_json_get(v, text);
}

/* NumericDate, which may have a fraction. */
static bool read_time(struct ar_json v, ar_usec *ret)
{
	double seconds;

	if (!ar_json_num(v, &seconds) || !(seconds >= 0) || seconds > (double)TIME_MAX)
		return false;
	*ret = (ar_usec)(seconds * (double)SECOND);
	return true;
}

static bool is_for_us(struct ar_json aud, struct ar_str audience)
{
	struct ar_str text;

	if (ar_json_str(aud, &text))
		return ar_str_eq(text, audience);
	if (ar_json_type(aud) != AR_JSON_ARRAY)
		return false;
	for (struct ar_json_iter it = ar_json_iter(aud); ar_json_next(&it);) {
		if (ar_json_str(it.value, &text) && ar_str_eq(text, audience))
			return true;
	}
	return false;
}

static bool check_time(struct ar_json claims, ar_usec leeway, ar_usec now, ar_usec *ret_until,
		       const char **ret_why)
{
	struct ar_json nbf = ar_json_get(claims, "nbf");
	ar_usec from;

	if (!read_time(ar_json_get(claims, "exp"), ret_until))
		return fail(ret_why, "the signed token has no expiry (exp)");
	*ret_until += leeway;
	if (*ret_until <= now)
		return fail(ret_why, "the signed token has expired");
	if (ar_json_type(nbf) == AR_JSON_NONE)
		return true;
	if (!read_time(nbf, &from) || from > now + leeway)
		return fail(ret_why, "the signed token is not valid yet (nbf)");
	return true;
}

static unsigned right_of(struct ar_str word, struct ar_str prefix)
{
	static const struct {
		const char *name;
		unsigned right;
	} rights[] = {
		{ "read", AR_RIGHT_READ },     { "submit", AR_RIGHT_SUBMIT }, { "decide", AR_RIGHT_DECIDE },
		{ "worker", AR_RIGHT_WORKER }, { "admin", AR_RIGHT_ALL },
	};

	if (!ar_str_starts(word, prefix))
		return 0;
	word = ar_str_sub(word, prefix.len, word.len);
	for (size_t i = 0; i < AR_ARRAY_LEN(rights); i++) {
		if (ar_str_is(word, rights[i].name))
			return rights[i].right;
	}
	return 0;
}

static unsigned read_rights(struct ar_json v, struct ar_str prefix)
{
	struct ar_str text, word;
	unsigned rights = 0;

	if (ar_json_str(v, &text)) {
		while (text.len) {
			text = ar_str_split(text, ' ', &word);
			rights |= right_of(word, prefix);
		}
		return rights;
	}
	if (ar_json_type(v) != AR_JSON_ARRAY)
		return 0;
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (ar_json_str(it.value, &word))
			rights |= right_of(word, prefix);
	}
	return rights;
}

static bool read_tenant(const struct ar_claim_rules *rules, struct ar_json claims, struct ar_str *ret,
			const char **ret_why)
{
	*ret = rules->tenant;
	if (rules->tenant_claim.len && !ar_json_str(member(claims, rules->tenant_claim), ret))
		return fail(ret_why, "the signed token does not name its tenant");
	if (ret->len > TENANT_MAX || !ar_id_acceptable(*ret))
		return fail(ret_why, "the tenant in the signed token is not a valid tenant name");
	if (rules->tenant_claim.len && !rules->may_be_local && ar_str_is(*ret, AR_TENANT_LOCAL))
		return fail(ret_why, "the signed token names the tenant local, which is the server's own: "
				     "auth.jwt_local allows that");
	return true;
}

/* The subject becomes part of an actor, which people and programs read: control characters (C0, DEL, C1) are
 * no part of a name, and a NUL would cut it. */
static bool is_name(struct ar_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < ' ' || c == 0x7f)
			return false;
		if (c == 0xc2 && i + 1 < s.len && (unsigned char)s.p[i + 1] < 0xa0)
			return false;
	}
	return s.len && s.len <= SUBJECT_MAX;
}

bool ar_claims_check(const struct ar_claim_rules *rules, struct ar_json claims, ar_usec now,
		     struct ar_arena *a, struct ar_principal *ret, const char **ret_why)
{
	struct ar_str issuer, subject, tenant;

	*ret = (struct ar_principal){ 0 };
	if (ar_json_type(claims) != AR_JSON_OBJECT)
		return fail(ret_why, "the claims of the signed token are no JSON object");
	if (!ar_json_str(ar_json_get(claims, "iss"), &issuer) || !ar_str_eq(issuer, rules->issuer))
		return fail(ret_why, "the signed token was issued by another issuer (iss)");
	if (!is_for_us(ar_json_get(claims, "aud"), rules->audience))
		return fail(ret_why, "the signed token is not meant for this server (aud)");
	if (!check_time(claims, rules->leeway, now, &ret->until, ret_why))
		return false;
	if (!ar_json_str(ar_json_get(claims, "sub"), &subject) || !is_name(subject))
		return fail(ret_why, "the signed token has no subject (sub)");
	if (!read_tenant(rules, claims, &tenant, ret_why))
		return false;
	ret->tenant = ar_arena_str(a, tenant);
	ret->actor = ar_arena_fmt(a, "jwt:%.*s", AR_STR_ARG(subject));
	ret->person = ret->actor;
	ret->token = ar_arena_fmt(a, "jwt:%.*s:%.*s", AR_STR_ARG(ret->tenant), AR_STR_ARG(subject));
	ret->rights = read_rights(member(claims, rules->scope_claim), rules->scope_prefix);
	return true;
}
