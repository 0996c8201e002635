/* See jwt.h. Whatever a header may carry beside alg and kid is passed over, except what would change the
 * meaning of the rest: crit, and a token inside the token. Keys and addresses in a header (jwk, jku, x5c,
 * x5u) are never looked at. */
#include "jwt.h"
#include "base64.h"

#include <string.h>

#define KID_MAX 256

enum ar_jwt_alg ar_jwt_alg_parse(struct ar_str name)
{
	static const char *const names[] = {
		[AR_JWT_RS256] = "RS256", [AR_JWT_ES256] = "ES256", [AR_JWT_EDDSA] = "EdDSA"
	};

	for (size_t i = AR_JWT_RS256; i < AR_ARRAY_LEN(names); i++) {
		if (ar_str_is(name, names[i]))
			return (enum ar_jwt_alg)i;
	}
	return AR_JWT_NONE;
}

static bool fail(const char **ret_why, const char *why)
{
	*ret_why = why;
	return false;
}

static bool is_nested(struct ar_json header)
{
	struct ar_str type;

	return ar_json_str(ar_json_get(header, "cty"), &type) && type.len == 3 && (type.p[0] | 0x20) == 'j' &&
	       (type.p[1] | 0x20) == 'w' && (type.p[2] | 0x20) == 't';
}

static bool read_header(struct ar_json header, struct ar_arena *a, struct ar_jwt *ret, const char **ret_why)
{
	struct ar_json kid = ar_json_get(header, "kid");
	struct ar_str alg, text;

	if (ar_json_type(header) != AR_JSON_OBJECT || !ar_json_str(ar_json_get(header, "alg"), &alg))
		return fail(ret_why, "its header is no JSON object with alg");
	ret->alg = ar_jwt_alg_parse(alg);
	if (ret->alg == AR_JWT_NONE)
		return fail(ret_why, "its alg is none of RS256, ES256, EdDSA");
	if (ar_json_type(ar_json_get(header, "crit")) != AR_JSON_NONE)
		return fail(ret_why, "its header has extensions (crit) that are not known here");
	if (is_nested(header))
		return fail(ret_why, "it contains another token (cty), which is not supported");
	ret->kid = AR_STR_NONE;
	if (ar_json_type(kid) == AR_JSON_NONE)
		return true;
	if (!ar_json_str(kid, &text) || !text.len || text.len > KID_MAX)
		return fail(ret_why, "its kid is no short text");
	ret->kid = ar_arena_str(a, text);
	return true;
}

bool ar_jwt_parse(struct ar_json_parser *parser, struct ar_str text, struct ar_arena *a, struct ar_jwt *ret,
		  const char **ret_why)
{
	struct ar_str header, claims, signature, rest, json;
	struct ar_json doc;

	*ret = (struct ar_jwt){ 0 };
	if (text.len > AR_JWT_MAX)
		return fail(ret_why, "it is too long");
	rest = ar_str_split(text, '.', &header);
	signature = ar_str_split(rest, '.', &claims);
	if (ar_str_empty(header) || ar_str_empty(claims) || ar_str_empty(signature) ||
	    memchr(signature.p, '.', signature.len))
		return fail(ret_why, "it does not have the form header.claims.signature");
	if (!ar_base64url_decode(a, header, &json) || !ar_base64url_decode(a, claims, &ret->claims) ||
	    !ar_base64url_decode(a, signature, &ret->signature))
		return fail(ret_why, "its parts are no base64url");
	if (ar_json_parse(parser, json, &doc, NULL) != AR_OK)
		return fail(ret_why, "its header is no JSON object with alg");
	ret->input = ar_str_sub(text, 0, header.len + 1 + claims.len);
	return read_header(doc, a, ret, ret_why);
}
