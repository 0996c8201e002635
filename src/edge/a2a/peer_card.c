/* See peer_card.h. A signature is a JWS over the canonical form (RFC 8785) of the card without its signatures
 * (A2A 8.4). Which algorithm counts is decided by the pinned key, never by the card. */
#include "peer_card.h"
#include "base64.h"
#include "jcs.h"
#include "request.h"
#include "url.h"

#define SIGNATURES_MAX 16

static enum ar_peer_error untrusted(struct ar_a2a_reading *r, const char *why)
{
	r->why = why;
	return AR_PEER_UNTRUSTED;
}

/* ---- the signature ---- */

/* Prints a value without what is empty in it: null, "", [], {}. False: then nothing is left of it. Some
 * signers leave empty members out, which says the same; A2A 8.4 wants the required ones kept. */
static bool print_filled(struct ar_json v, struct ar_buf *out)
{
	enum ar_json_type type = ar_json_type(v);
	bool is_object = type == AR_JSON_OBJECT;
	size_t start = out->len, count = 0;
	struct ar_str text;

	if (!is_object && type != AR_JSON_ARRAY) {
		ar_json_print(v, out);
		return type != AR_JSON_NULL && !(ar_json_str(v, &text) && text.len == 0);
	}
	ar_buf_addc(out, is_object ? '{' : '[');
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		size_t before = out->len;

		if (count > 0)
			ar_buf_addc(out, ',');
		if (is_object) {
			ar_json_print(ar_json_name(&it), out);
			ar_buf_addc(out, ':');
		}
		if (print_filled(it.value, out))
			count++;
		else
			out->len = before;
	}
	ar_buf_addc(out, is_object ? '}' : ']');
	if (count == 0)
		out->len = start;
	return count > 0;
}

/* The canonical text of the card without its signatures, as base64url. */
static struct ar_str payload_of(struct ar_a2a_reading *r, const struct ar_a2a_trust *t, struct ar_json doc,
				bool is_filled)
{
	struct ar_buf plain = { 0 }, canonical = { 0 };
	struct ar_json copy;
	struct ar_str payload;

	ar_buf_addc(&plain, '{');
	for (struct ar_json_iter it = ar_json_iter(doc); ar_json_next(&it);) {
		size_t before = plain.len;

		if (ar_str_is(it.name, "signatures"))
			continue;
		if (plain.len > 1)
			ar_buf_addc(&plain, ',');
		ar_json_print(ar_json_name(&it), &plain);
		ar_buf_addc(&plain, ':');
		if (!is_filled)
			ar_json_print(it.value, &plain);
		else if (!print_filled(it.value, &plain))
			plain.len = before;
	}
	ar_buf_addc(&plain, '}');
	if (ar_json_parse(t->parser, ar_buf_str(&plain), &copy, NULL) == AR_OK)
		ar_jcs(copy, r->arena, &canonical);
	payload = ar_base64url(r->arena, ar_buf_str(&canonical));
	ar_buf_fini(&plain);
	ar_buf_fini(&canonical);
	return payload;
}

static bool is_signed(struct ar_a2a_reading *r, const struct ar_a2a_trust *t, struct ar_json signature,
		      struct ar_str payload, struct ar_str *ret_key)
{
	struct ar_jwt jws = { 0 };
	struct ar_str head, text, alg, bytes;
	struct ar_json header;

	if (!ar_json_str(ar_json_get(signature, "protected"), &head) || head.len > AR_JWT_MAX ||
	    !ar_json_str(ar_json_get(signature, "signature"), &bytes) || bytes.len > AR_JWT_MAX ||
	    !ar_base64url_decode(r->arena, head, &text) ||
	    !ar_base64url_decode(r->arena, bytes, &jws.signature) ||
	    ar_json_parse(t->parser, text, &header, NULL) != AR_OK ||
	    !ar_json_str(ar_json_get(header, "alg"), &alg) ||
	    ar_json_type(ar_json_get(header, "crit")) != AR_JSON_NONE)
		return false;
	jws.alg = ar_jwt_alg_parse(alg);
	if (ar_json_str(ar_json_get(header, "kid"), &jws.kid))
		jws.kid = ar_arena_str(r->arena, jws.kid);
	jws.input = ar_arena_fmt(r->arena, "%.*s.%.*s", AR_STR_ARG(head), AR_STR_ARG(payload));
	*ret_key = ar_str_absent(jws.kid) ? AR_STR("") : jws.kid;
	return jws.alg != AR_JWT_NONE && ar_jwks_verify(t->keys, &jws);
}

static enum ar_peer_error check_signature(struct ar_a2a_reading *r, const struct ar_a2a_trust *t,
					  struct ar_json doc, struct ar_str *ret_key)
{
	struct ar_json signatures = ar_json_get(doc, "signatures");
	struct ar_str whole, filled;
	size_t seen = 0;

	if (!t->keys)
		return AR_PEER_OK;
	if (ar_json_type(signatures) != AR_JSON_ARRAY || ar_json_len(signatures) == 0)
		return untrusted(r, "the card is not signed, and keys are pinned");
	whole = payload_of(r, t, doc, false);
	filled = payload_of(r, t, doc, true);
	for (struct ar_json_iter it = ar_json_iter(signatures); ar_json_next(&it) && seen < SIGNATURES_MAX;
	     seen++) {
		if (is_signed(r, t, it.value, whole, ret_key) || is_signed(r, t, it.value, filled, ret_key))
			return AR_PEER_OK;
	}
	*ret_key = AR_STR_NONE;
	return untrusted(r, "no pinned key signed the card");
}

/* ---- the interface ---- */

enum ar_peer_error ar_a2a_card_check(struct ar_a2a_reading *r, const struct ar_a2a_trust *t,
				     struct ar_json doc, const struct ar_a2a_card *card,
				     const struct ar_a2a_interface **ret, struct ar_str *ret_key)
{
	enum ar_peer_error error = check_signature(r, t, doc, ret_key);

	if (error != AR_PEER_OK)
		return error;
	if (!ar_str_absent(card->required)) {
		r->why = "the peer requires an extension that is not known here";
		return AR_PEER_UNSUPPORTED;
	}
	*ret = ar_a2a_interface_choose(card);
	if (*ret && !ar_url_is_same_origin((*ret)->url.p, t->url))
		return untrusted(r, "the card points to another origin than the configured one");
	if (*ret)
		return AR_PEER_OK;
	r->why = "the peer has no interface that is spoken here (A2A 1.0 over JSON-RPC or HTTP+JSON, 0.3 "
		 "over JSON-RPC)";
	return AR_PEER_UNSUPPORTED;
}
