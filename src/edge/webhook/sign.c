/* See sign.h. */
#include "sign.h"
#include "base64.h"
#include "hash.h"
#include "status.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#define KEY_MIN 16
#define ID_CHARACTERS 26 /* of 52: 130 bits */

bool ar_webhook_key(struct ar_str secret, struct ar_arena *a, struct ar_str *ret_key)
{
	static const char prefix[] = "whsec_";

	*ret_key = secret;
	if (ar_str_starts(secret, ar_str_from(prefix)) &&
	    !ar_base64_decode(a, ar_str_sub(secret, sizeof(prefix) - 1, secret.len), ret_key))
		return false;
	return ret_key->len >= KEY_MIN;
}

static struct ar_hash hmac_of(struct ar_str key, struct ar_str bytes)
{
	struct ar_hash h = { 0 };
	unsigned len = 0;

	AR_ASSERT(HMAC(EVP_sha256(), key.p, (int)key.len, (const unsigned char *)bytes.p, bytes.len, h.b,
		       &len) &&
		  len == AR_HASH_LEN);
	return h;
}

struct ar_str ar_webhook_signature(struct ar_str key, struct ar_str id, int64_t timestamp, struct ar_str body,
				   struct ar_arena *a)
{
	struct ar_buf text = { 0 };
	struct ar_hash h;

	ar_buf_addf(&text, "%.*s.%lld.", AR_STR_ARG(id), (long long)timestamp);
	ar_buf_adds(&text, body);
	h = hmac_of(key, ar_buf_str(&text));
	ar_buf_fini(&text);
	return ar_arena_fmt(a, "v1,%.*s",
			    AR_STR_ARG(ar_base64(a, (struct ar_str){ (const char *)h.b, AR_HASH_LEN })));
}

bool ar_webhook_is_signed(struct ar_str key, struct ar_str id, int64_t timestamp, struct ar_str body,
			  struct ar_str signatures)
{
	struct ar_arena a = { 0 };
	struct ar_str right = ar_webhook_signature(key, id, timestamp, body, &a), one;
	bool is_signed = false;

	while (!ar_str_empty(signatures)) {
		signatures = ar_str_split(signatures, ' ', &one);
		is_signed |= ar_hash_is_same(one, right);
	}
	ar_arena_fini(&a);
	return is_signed;
}

bool ar_webhook_is_signed_hex(struct ar_str key, struct ar_str body, struct ar_str signature)
{
	static const char prefix[] = "sha256=";
	struct ar_hash h = hmac_of(key, body);
	char hex[AR_HASH_HEX];

	ar_hash_hex(&h, hex);
	return ar_str_starts(signature, ar_str_from(prefix)) &&
	       ar_hash_is_same(ar_str_sub(signature, sizeof(prefix) - 1, signature.len),
			       (struct ar_str){ hex, sizeof(hex) });
}

struct ar_str ar_webhook_delivery_id(struct ar_str webhook, struct ar_str event_id, struct ar_arena *a)
{
	/* The first line has no line end in it: two pairs never give one text. */
	struct ar_str text = ar_arena_fmt(a, "webhook\n%zu\n%.*s\n%.*s", webhook.len, AR_STR_ARG(webhook),
					  AR_STR_ARG(event_id));
	struct ar_hash h = ar_hash_of(text);
	char out[AR_HASH_TEXT];

	ar_hash_text(&h, out);
	return ar_arena_fmt(a, "msg_%.*s", ID_CHARACTERS, out);
}

int64_t ar_webhook_pause_ms(int64_t backoff_ms, unsigned attempts, uint32_t random)
{
	int64_t pause = backoff_ms;

	for (unsigned i = 1; i < attempts && pause < AR_WEBHOOK_PAUSE_MAX_MS; i++)
		pause *= 2;
	if (pause > AR_WEBHOOK_PAUSE_MAX_MS)
		pause = AR_WEBHOOK_PAUSE_MAX_MS;
	return pause - pause / 4 + (int64_t)(random % 1024) * (pause / 2) / 1023;
}
