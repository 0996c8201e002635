/* Fuzz target: a plan that is read can be written, and what is written is read as the same plan. */
#include "plan.h"

#include "mem.h"
#include "status.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static char *write_plan(const struct ar_plan *p, size_t *ret_len)
{
	char *text;

	*ret_len = ar_plan_write(p, NULL, 0);
	AR_ASSERT(*ret_len > 0);
	text = ar_new0(*ret_len);
	AR_ASSERT(ar_plan_write(p, text, *ret_len) == *ret_len);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct ar_plan first, second;
	const char *wrong = NULL;
	char *given = ar_new0(len + 1), *once, *again, *kept;
	size_t once_len, again_len;

	memcpy(given, bytes, len);
	if (!ar_plan_read(given, len, &first, &wrong)) {
		AR_ASSERT(wrong && wrong[0]);
		ar_free(given);
		return 0;
	}
	once = write_plan(&first, &once_len);
	kept = ar_new0(once_len);
	memcpy(kept, once, once_len);
	AR_ASSERT(ar_plan_read(once, once_len, &second, &wrong));
	again = write_plan(&second, &again_len);
	AR_ASSERT(again_len == once_len && memcmp(again, kept, once_len) == 0);
	ar_free(given);
	ar_free(once);
	ar_free(kept);
	ar_free(again);
	return 0;
}
