/* Fuzz target: a cursor that parses, of a session or of a tenant, prints to a text that parses to the same
 * cursor; no text is both. */
#include "cursor.h"
#include "places.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static bool try_places(struct ar_str input)
{
	struct ar_places first, second;
	struct ar_error err = { 0 };
	struct ar_buf text = { 0 };

	if (ar_places_parse(input, &first, &err) != AR_OK) {
		AR_ASSERT(err.status == AR_E_REFUSED && err.msg[0]);
		return false;
	}
	ar_places_print(&first, &text);
	AR_ASSERT(ar_places_parse(ar_buf_str(&text), &second, &err) == AR_OK);
	AR_ASSERT(ar_places_cover(&first, &second) && ar_places_cover(&second, &first));
	AR_ASSERT(!ar_places_beyond(&first, &second) && !ar_places_beyond(&second, &first));
	AR_ASSERT(first.part_lane == second.part_lane && first.part_sequence == second.part_sequence);
	ar_places_fini(&first);
	ar_places_fini(&second);
	ar_buf_fini(&text);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	bool is_tenant = try_places((struct ar_str){ (const char *)bytes, len });
	struct ar_buf text = { 0 };
	struct ar_cursor first, second;
	struct ar_error err = { 0 };

	if (ar_cursor_parse((struct ar_str){ (const char *)bytes, len }, &first, &err) != AR_OK) {
		AR_ASSERT(err.status == AR_E_REFUSED && err.msg[0]);
		return 0;
	}
	AR_ASSERT(!is_tenant || len == 0); /* but for the beginning */
	ar_cursor_print(&first, &text);
	AR_ASSERT(ar_cursor_parse(ar_buf_str(&text), &second, &err) == AR_OK);
	AR_ASSERT(first.sequence == second.sequence && first.count == second.count);
	AR_ASSERT(!first.count || memcmp(first.steps, second.steps, first.count * sizeof(*first.steps)) == 0);
	ar_cursor_fini(&first);
	ar_cursor_fini(&second);
	ar_buf_fini(&text);
	return 0;
}
