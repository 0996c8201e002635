/* A zone file, and a cron expression behind its last line feed: nothing breaks, no offset is longer than
 * the format allows, and the next time is later. */
#include "cron.h"

#include <stdlib.h>

static struct ar_str expression(struct ar_str bytes)
{
	for (size_t i = bytes.len; i > 0; i--) {
		if (bytes.p[i - 1] == '\n')
			return ar_str_sub(bytes, i, bytes.len);
	}
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const int64_t times[] = { -2000000000, 0, 1774746000, 1792890000, 4102444800 };
	struct ar_str bytes = { (const char *)p, len };
	struct ar_arena a = { 0 };
	struct ar_zone *z = NULL;
	struct ar_cron_clock c = { 0 };
	bool has_cron = ar_cron_parse(expression(bytes), &c.cron, NULL) == AR_OK;

	if (ar_zone_parse(bytes, &z, NULL) != AR_OK && !has_cron)
		return 0;
	c.zone = z;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		int64_t offset = ar_zone_offset(z, times[i]);

		if (offset > 93600 || offset < -93600)
			abort();
		ar_zone_from_local(z, times[i]);
		if (has_cron && ar_cron_next(&c, times[i] * 1000000) <= times[i] * 1000000)
			abort();
	}
	if (has_cron)
		ar_cron_sentence(&c.cron, AR_STR("UTC"), &a);
	ar_arena_fini(&a);
	ar_zone_free(z);
	return 0;
}
