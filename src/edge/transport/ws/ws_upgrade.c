/* See ws_upgrade.h. */
#include "ws/ws_upgrade.h"
#include "base64.h"
#include "ws_accept.h"

#include <string.h>

#define KEY_BYTES 16

static bool is_key(struct ar_str key)
{
	struct ar_arena a = { 0 };
	struct ar_str bytes = AR_STR("");
	bool is_good = key.len == 24 && ar_base64_decode(&a, key, &bytes) && bytes.len == KEY_BYTES;

	ar_arena_fini(&a);
	return is_good;
}

/* Subprotocols, unlike header names, are case-sensitive. */
static bool offers(struct ar_str protocols, const char *protocol)
{
	struct ar_str part;

	while (ar_header_next(&protocols, &part)) {
		if (ar_str_is(part, protocol))
			return true;
	}
	return false;
}

bool ar_ws_upgrade_check(const struct ar_http_head *r, const char *protocol, struct ar_fault *ret_fault)
{
	struct ar_fault fault = { 0 };

	if (!r->is_upgrade || !ar_header_has_word(r->upgrade, "websocket"))
		fault = (struct ar_fault){ 426, "this path is a WebSocket: connect with Upgrade: websocket" };
	else if (!ar_str_is(r->ws_version, "13"))
		fault = (struct ar_fault){ 426, "the WebSocket version has to be 13" };
	else if (!is_key(r->ws_key))
		fault = (struct ar_fault){ 400, "Sec-WebSocket-Key has to be 16 bytes in base64" };
	else if (!offers(r->ws_protocol, protocol))
		fault = (struct ar_fault){ 400, strcmp(protocol, AR_WS_PROTOCOL) == 0
							? "offer the subprotocol " AR_WS_PROTOCOL
							: "offer the subprotocol " AR_WS_WORKER_PROTOCOL };
	*ret_fault = fault;
	return !fault.status;
}

void ar_ws_upgrade_write(struct ar_buf *out, struct ar_str key, const char *protocol, struct ar_str node)
{
	struct ar_arena a = { 0 };

	ar_buf_addz(out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
			 "Sec-WebSocket-Accept: ");
	ar_buf_adds(out, ar_ws_accept(&a, key));
	ar_buf_addf(out, "\r\nSec-WebSocket-Protocol: %s\r\n", protocol);
	if (!ar_str_absent(node))
		ar_buf_addf(out, AR_WS_NODE_HEADER ": %.*s\r\n", AR_STR_ARG(node));
	ar_buf_addz(out, "\r\n");
	ar_arena_fini(&a);
}
