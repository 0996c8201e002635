/* See base64.h. */
#include "base64.h"

#include <sodium.h>

static struct ar_str encode(struct ar_arena *a, struct ar_str bytes, int variant)
{
	size_t room = sodium_base64_encoded_len(bytes.len, variant);
	char *text = ar_arena_alloc(a, room);

	sodium_bin2base64(text, room, (const unsigned char *)bytes.p, bytes.len, variant);
	return ar_str_from(text);
}

struct ar_str ar_base64(struct ar_arena *a, struct ar_str bytes)
{
	return encode(a, bytes, sodium_base64_VARIANT_ORIGINAL);
}

struct ar_str ar_base64url(struct ar_arena *a, struct ar_str bytes)
{
	return encode(a, bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

static bool decode(struct ar_arena *a, struct ar_str text, int variant, struct ar_str *ret)
{
	char *bytes = ar_arena_alloc(a, text.len + 1);
	size_t len;

	if (sodium_base642bin((unsigned char *)bytes, text.len, text.p, text.len, NULL, &len, NULL,
			      variant) != 0)
		return false;
	*ret = (struct ar_str){ bytes, len };
	return true;
}

bool ar_base64_decode(struct ar_arena *a, struct ar_str text, struct ar_str *ret)
{
	return decode(a, text, sodium_base64_VARIANT_ORIGINAL, ret);
}

bool ar_base64url_decode(struct ar_arena *a, struct ar_str text, struct ar_str *ret)
{
	return decode(a, text, sodium_base64_VARIANT_URLSAFE_NO_PADDING, ret);
}
