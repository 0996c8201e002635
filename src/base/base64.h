/* Standard base64 with padding, for bytes that have to travel inside JSON. */
#ifndef AR_BASE_BASE64_H
#define AR_BASE_BASE64_H

#include "arena.h"

AR_BEGIN_DECLS

struct ar_str ar_base64(struct ar_arena *a, struct ar_str bytes);

AR_END_DECLS

#endif
