/* A reader over WebSocket: the handshake and one subscription; from then on what comes is counted and pings
 * are answered. */
#include "fanout.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define HANDSHAKE \
	"GET /v1/rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" \
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" \
	"Sec-WebSocket-Protocol: agentruntime.v1\r\n\r\n"

/* A text frame under a mask of zeros; padded, so that its length has the form of two bytes. */
static size_t write_subscription(char *out, size_t room, const char *session)
{
	int len = snprintf(out + 8, room - 8,
			   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscribe_events\",\"params\":{"
			   "\"sessionId\":\"%s\","
			   "\"after\":\"now\"}}%64s",
			   session, "");

	memcpy(out, "\x81\xfe\0\0\0\0\0\0", 8);
	out[2] = (char)(len >> 8);
	out[3] = (char)len;
	return (size_t)len + 8;
}

/* Whether the head of the frame is whole; the length of its payload is known then. */
static bool has_whole_head(struct reader *r)
{
	unsigned extra, len = r->head[1] & 0x7f;

	if (r->has_head < 2)
		return false;
	extra = len == 127 ? 8 : len == 126 ? 2 : 0;
	if (r->has_head < 2 + extra)
		return false;
	r->payload = extra ? 0 : len;
	for (unsigned i = 0; i < extra; i++)
		r->payload = r->payload << 8 | r->head[2 + i];
	return true;
}

void fanout_ws_answer(struct reader *r, const char *p, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t skip = r->payload < len - i ? (size_t)r->payload : len - i;

		r->payload -= skip;
		i += skip;
		if (i == len)
			return;
		r->head[r->has_head++] = (unsigned char)p[i++];
		if (!has_whole_head(r))
			continue;
		r->has_head = 0;
		if ((r->head[0] & 0xf) == 9 && send(r->fd, "\x8a\x80\0\0\0\0", 6, 0) != 6)
			fanout_die("pong");
	}
}

void fanout_ws_open(const struct fanout *f, struct reader *r)
{
	char text[4096] = HANDSHAKE, *frames;
	size_t len = sizeof HANDSHAKE - 1, have = 0;

	r->fd = fanout_connect(f->port);
	len += write_subscription(text + len, sizeof text - len, f->path);
	if (send(r->fd, text, len, 0) != (ssize_t)len)
		fanout_die("send");
	while (!have || !memmem(text, have, "subscriptionId", 14)) {
		ssize_t n = recv(r->fd, text + have, sizeof text - have, 0);

		if (n <= 0)
			fanout_die("no subscription was opened");
		have += (size_t)n;
	}
	frames = memmem(text, have, "\r\n\r\n", 4);
	fanout_ws_answer(r, frames + 4, (size_t)(text + have - frames - 4));
}
