/* See ws_upgrade.h. SHA-1 is what the handshake asks for: it proves that we read the
 * request, and protects nothing. */
#include "ws/ws_upgrade.h"
#include "base64.h"

#include <openssl/evp.h>
#include <string.h>

#define KEY_BYTES 16
#define SHA1_BYTES 20

static bool is_key(struct ar_str key)
{
	struct ar_arena a = { 0 };
	struct ar_str bytes = AR_STR("");
	bool is_good = key.len == 24 && ar_base64_decode(&a, key, &bytes) && bytes.len == KEY_BYTES;

	ar_arena_fini(&a);
	return is_good;
}

/* Subprotocols, unlike header names, are case-sensitive. */
static bool offers_ours(struct ar_str protocols)
{
	struct ar_str part;

	while (ar_header_next(&protocols, &part)) {
		if (ar_str_is(part, AR_WS_PROTOCOL))
			return true;
	}
	return false;
}

bool ar_ws_upgrade_check(const struct ar_http_head *r, struct ar_fault *ret_fault)
{
	struct ar_fault fault = { 0 };

	if (!r->is_upgrade || !ar_header_has_word(r->upgrade, "websocket"))
		fault = (struct ar_fault){ 426, "this path is a WebSocket: connect with Upgrade: websocket" };
	else if (!ar_str_is(r->ws_version, "13"))
		fault = (struct ar_fault){ 426, "the WebSocket version has to be 13" };
	else if (!is_key(r->ws_key))
		fault = (struct ar_fault){ 400, "Sec-WebSocket-Key has to be 16 bytes in base64" };
	else if (!offers_ours(r->ws_protocol))
		fault = (struct ar_fault){ 400, "offer the subprotocol " AR_WS_PROTOCOL };
	*ret_fault = fault;
	return !fault.status;
}

static struct ar_str accept_of(struct ar_arena *a, struct ar_str key)
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	struct ar_str text = ar_arena_fmt(a, "%.*s%s", AR_STR_ARG(key), guid);
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	if (EVP_Digest(text.p, text.len, digest, &len, EVP_sha1(), NULL) != 1 || len != SHA1_BYTES)
		return AR_STR("");
	return ar_base64(a, (struct ar_str){ (const char *)digest, len });
}

void ar_ws_upgrade_write(struct ar_buf *out, struct ar_str key)
{
	struct ar_arena a = { 0 };

	ar_buf_addz(out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
			 "Sec-WebSocket-Accept: ");
	ar_buf_adds(out, accept_of(&a, key));
	ar_buf_addz(out, "\r\nSec-WebSocket-Protocol: " AR_WS_PROTOCOL "\r\n\r\n");
	ar_arena_fini(&a);
}
