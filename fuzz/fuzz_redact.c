/* Fuzz target: a text gives the same masked text as a whole and in pieces; nothing known is left in it; no
 * more than allowed is held back. The first byte says how the text is cut. */
#include "redact.h"
#include "status.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define SECRET "s3cret/Value"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_redactor *r = ar_redactor_new(true);
	struct ar_redact_stream s = { .redactor = r };
	struct ar_redact_counts counts = { 0 };
	struct ar_arena a = { 0 };
	struct ar_buf out = { 0 };
	struct ar_str text, whole;
	size_t step = len ? bytes[0] % 31 + 1u : 1;

	ar_redactor_add(r, AR_STR(SECRET));
	ar_redactor_add(r, AR_STR("Valuesk-abababab"));
	text = (struct ar_str){ (const char *)bytes + (len > 0), len - (len > 0) };
	whole = ar_redact(r, text, &a, &counts);
	for (size_t at = 0; at < text.len; at += step) {
		ar_buf_adds(&out, ar_redact_feed(&s, ar_str_sub(text, at, step)));
		AR_ASSERT(s.held.len <= AR_REDACT_HOLD);
	}
	ar_buf_adds(&out, ar_redact_end(&s));
	AR_ASSERT(ar_str_eq(whole, ar_buf_str(&out)) || (whole.len == 0 && out.len == 0));
	AR_ASSERT(!memmem(out.p ? out.p : "", out.len, SECRET, strlen(SECRET)));
	AR_ASSERT(memcmp(&counts, &s.counts, sizeof(counts)) == 0);
	ar_redact_stream_fini(&s);
	ar_buf_fini(&out);
	ar_arena_fini(&a);
	ar_redactor_free(r);
	return 0;
}
