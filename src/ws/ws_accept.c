/* See ws_accept.h. */
#include "ws_accept.h"
#include "base64.h"

#include <openssl/evp.h>

#define SHA1_BYTES 20

struct ar_str ar_ws_accept(struct ar_arena *a, struct ar_str key)
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	struct ar_str text = ar_arena_fmt(a, "%.*s%s", AR_STR_ARG(key), guid);
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	if (EVP_Digest(text.p, text.len, digest, &len, EVP_sha1(), NULL) != 1 || len != SHA1_BYTES)
		return AR_STR("");
	return ar_base64(a, (struct ar_str){ (const char *)digest, len });
}
