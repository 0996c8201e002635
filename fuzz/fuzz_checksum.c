/* Fuzz target: bytes that may be a stored value are unpacked without going beyond them, with a checksum or
 * from before; what is unpacked and packed again comes back. */
#include "pack.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	/* Exactly as long as the input, so that one byte too far is seen. */
	char *copy = memcpy(malloc(len + !len), bytes, len);
	struct ar_pack_dictionaries *none = ar_pack_dictionaries_new();
	struct ar_packer *p = ar_packer_new(none);
	struct ar_row_sum at = ar_row_sum("log", AR_STR("fuzz"));
	struct ar_arena a = { 0 };
	struct ar_str value, again;

	if (ar_unpack_checksummed(p, (struct ar_str){ copy, len }, at, &a, &value, NULL) == AR_OK) {
		if (ar_unpack_checksummed(p, ar_pack_checksummed(p, value, at), at, &a, &again, NULL) !=
			    AR_OK ||
		    !ar_str_eq(value, again))
			abort();
	}
	ar_arena_fini(&a);
	ar_packer_free(p);
	ar_pack_dictionaries_free(none);
	free(copy);
	return 0;
}
