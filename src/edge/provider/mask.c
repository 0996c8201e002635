/* See mask.h. */
#include "mask.h"

#include "buf.h"

#include <string.h>

#define SECRET_MIN 6

struct ar_str ar_mask(struct ar_arena *a, struct ar_str text, struct ar_str secret)
{
	struct ar_buf out = { 0 };
	struct ar_str ret;

	if (ar_str_absent(text))
		return text;
	/* Masking comes before cutting: half a secret would not be found. */
	while (secret.len >= SECRET_MIN && text.len >= secret.len) {
		const char *hit = memmem(text.p, text.len, secret.p, secret.len);

		if (!hit)
			break;
		ar_buf_add(&out, text.p, (size_t)(hit - text.p));
		ar_buf_addz(&out, "***");
		text = ar_str_sub(text, (size_t)(hit - text.p) + secret.len, text.len);
	}
	ar_buf_adds(&out, text);
	ret = ar_arena_str(a, ar_str_utf8_prefix(ar_buf_str(&out), AR_MASK_EXCERPT));
	ar_buf_fini(&out);
	return ret;
}
