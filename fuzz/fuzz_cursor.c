/* Fuzz target: a cursor that parses prints to a text that parses to the same cursor. */
#include "cursor.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_buf text = { 0 };
	struct ar_cursor first, second;
	struct ar_error err = { 0 };

	if (ar_cursor_parse((struct ar_str){ (const char *)bytes, len }, &first, &err) != AR_OK) {
		AR_ASSERT(err.status == AR_E_REFUSED && err.msg[0]);
		return 0;
	}
	ar_cursor_print(&first, &text);
	AR_ASSERT(ar_cursor_parse(ar_buf_str(&text), &second, &err) == AR_OK);
	AR_ASSERT(memcmp(&first, &second, sizeof(first)) == 0);
	ar_buf_fini(&text);
	return 0;
}
