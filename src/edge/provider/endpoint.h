/* Addresses of a model server: where a call goes, and how the address may be shown. Pure, but for libcurl's
 * URL parser. */
#ifndef AR_PROVIDER_ENDPOINT_H
#define AR_PROVIDER_ENDPOINT_H

#include "str.h"

AR_BEGIN_DECLS

/* Base and path as one URL; a last part of the base that opens the path is taken once, because people write
 * addresses with and without "/v1". The caller frees with ar_free. */
char *ar_endpoint_join(struct ar_str base, struct ar_str path);

/* The URL for messages: user and password stay out of them. The caller frees with ar_free. */
char *ar_endpoint_shown(const char *url);

AR_END_DECLS

#endif
