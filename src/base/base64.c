/* See base64.h. */
#include "base64.h"

#include <sodium.h>

struct ar_str ar_base64(struct ar_arena *a, struct ar_str bytes)
{
	size_t room = sodium_base64_ENCODED_LEN(bytes.len, sodium_base64_VARIANT_ORIGINAL);
	char *text = ar_arena_alloc(a, room);

	sodium_bin2base64(text, room, (const unsigned char *)bytes.p, bytes.len,
			  sodium_base64_VARIANT_ORIGINAL);
	return ar_str_from(text);
}
