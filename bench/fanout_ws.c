/* A reader over WebSocket: the handshake and one subscription; from then on what comes is only counted. */
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

int fanout_ws_open(const struct fanout *f)
{
	char text[4096] = HANDSHAKE;
	size_t len = sizeof HANDSHAKE - 1, have = 0;
	int fd = fanout_connect(f->port);

	len += write_subscription(text + len, sizeof text - len, f->path);
	if (send(fd, text, len, 0) != (ssize_t)len)
		fanout_die("send");
	while (!have || !memmem(text, have, "subscriptionId", 14)) {
		ssize_t n = recv(fd, text + have, sizeof text - have, 0);

		if (n <= 0)
			fanout_die("no subscription was opened");
		have += (size_t)n;
	}
	return fd;
}
