/* Crockford base32, lower case, most significant digit first, so that equally long texts sort like their
 * bytes. The first digit carries the bits that do not fill five. Used by id.c and hash.c. */
#ifndef AR_BASE_BASE32_H
#define AR_BASE_BASE32_H

#include "str.h"

#define AR_BASE32_LEN(bytes) (((bytes)*8 + 4) / 5)

AR_BEGIN_DECLS

/* Writes AR_BASE32_LEN(len) characters, no NUL. */
void ar_base32_encode(const uint8_t *bytes, size_t len, char *out);

/* Exactly `len` bytes from exactly AR_BASE32_LEN(len) characters in the one form that encode writes. */
bool ar_base32_decode(struct ar_str text, uint8_t *ret, size_t len);

/* Whether decode would take it. */
bool ar_base32_fits(struct ar_str text, size_t len);

AR_END_DECLS

#endif
