/* Fuzz target: what agentctl shows of any bytes has no control character, and no character that turns or
 * hides others. */
#include "out.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(struct ar_str shown, bool is_line)
{
	static const char *const unseen[] = { "\xe2\x80\x8b", "\xe2\x80\xae", "\xe2\x81\xa6", "\xef\xbb\xbf",
					      "\xc2\x9b" };

	AR_ASSERT(ar_str_is_utf8(shown));
	for (size_t i = 0; i < shown.len; i++) {
		unsigned char c = (unsigned char)shown.p[i];

		AR_ASSERT((c >= 0x20 && c != 0x7f) || (!is_line && (c == '\n' || c == '\t')));
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(unseen); i++)
		AR_ASSERT(!shown.len || !memmem(shown.p, shown.len, unseen[i], strlen(unseen[i])));
}

static void show(void (*write)(struct ar_out *o, struct ar_str text), struct ar_str text, bool is_line)
{
	char *shown = NULL;
	size_t len = 0;
	struct ar_out o = { .file = open_memstream(&shown, &len), .is_tty = true };

	AR_ASSERT(o.file);
	write(&o, text);
	fclose(o.file);
	check((struct ar_str){ shown, len }, is_line);
	free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_str text = { (const char *)bytes, len };

	show(ar_out_line, text, true);
	show(ar_out_text, text, false);
	show(ar_out_json, text, false);
	return 0;
}
