/* The HTTP headers of a model request. Pure, but for libcurl's list. */
#ifndef AR_PROVIDER_REQUEST_HEADERS_H
#define AR_PROVIDER_REQUEST_HEADERS_H

#include "provider.h"
#include "wire.h"

#include <curl/curl.h>

AR_BEGIN_DECLS

/* The caller frees with curl_slist_free_all. No key header when the key is absent. A value with control
 * characters in it is left out with its header: it could smuggle another one in. */
struct curl_slist *ar_request_headers(const struct ar_wire *wire, const struct ar_model_request *r,
				      struct ar_str api_key, struct ar_str version);

AR_END_DECLS

#endif
