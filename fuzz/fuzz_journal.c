/* Fuzz target: bytes that may be a journal are read without going beyond them; what is read is whole, and
 * closing it again gives the same head. */
#include "journal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const char *at, size_t n, const struct ar_record *r)
{
	struct ar_record_head head = r->head;

	ar_record_close(&head, r->payload);
	if (n != sizeof(head) + head.len || memcmp(&head, at, sizeof(head)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	/* Exactly as long as the input, so that one byte too far is seen. */
	char *copy = memcpy(malloc(len + !len), bytes, len);
	struct ar_record r;
	bool is_broken;
	size_t at = 0, n;

	while ((n = ar_record_read(copy + at, len - at, &r, &is_broken)) > 0) {
		if (is_broken || n > len - at)
			abort();
		check(copy + at, n, &r);
		at += n;
	}
	free(copy);
	return 0;
}
