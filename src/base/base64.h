/* Standard base64 with padding, for bytes that have to travel inside JSON. */
#ifndef AR_BASE_BASE64_H
#define AR_BASE_BASE64_H

#include "arena.h"

AR_BEGIN_DECLS

struct ar_str ar_base64(struct ar_arena *a, struct ar_str bytes);

/* False, and nothing written, when it is no base64. */
bool ar_base64_decode(struct ar_arena *a, struct ar_str text, struct ar_str *ret);

/* The same in the form that addresses and signed tokens use: - and _, without padding. */
struct ar_str ar_base64url(struct ar_arena *a, struct ar_str bytes);
bool ar_base64url_decode(struct ar_arena *a, struct ar_str text, struct ar_str *ret);

AR_END_DECLS

#endif
