/* WebSocket bytes of the peer in, messages out, for either end; no sockets, no time. wslay reads the frames
 * and judges them (masking, fragments, lengths, control frames, close codes, UTF-8); here is what it leaves
 * open: one kind of message only, a cap, and that a connection between two messages holds nothing of wslay's,
 * whose buffers are eight kilobytes. Single-owner. */
#ifndef AR_WS_CODEC_H
#define AR_WS_CODEC_H

#include "buf.h"

struct ar_ws_codec;
struct ar_ws_reader;

enum ar_ws_close {
	AR_WS_NORMAL = 1000,
	AR_WS_GOING_AWAY = 1001,
	AR_WS_PROTOCOL_ERROR = 1002,
	AR_WS_WRONG_KIND = 1003,
	AR_WS_NOT_UTF8 = 1007,
	AR_WS_POLICY = 1008,
	AR_WS_TOO_LARGE = 1009,
	AR_WS_TRY_LATER = 1013,
	AR_WS_AUTH_FAILED = 4401, /* of our own, after HTTP's 401 */
};

struct ar_ws_codec_vtable {
	void (*message)(struct ar_ws_codec *c, struct ar_str message); /* borrowed until it returns */
	void (*pong)(struct ar_ws_codec *c);
	bool (*takes_more)(struct ar_ws_codec *c); /* asked again and again while there are bytes */
};

/* One spare reader that the connections of one end share; zeroed it is empty. */
struct ar_ws_spare {
	struct ar_ws_reader *reader;
};

struct ar_ws_codec {
	const struct ar_ws_codec_vtable *v;
	struct ar_ws_spare *spare;
	size_t cap; /* bytes of a message */
	bool is_binary; /* messages are bytes; else text */
	bool is_client; /* the peer is the server: its frames are not masked, ours are */

	struct ar_ws_reader *reader; /* private from here on; NULL: between two frames, nothing is kept */
	struct ar_buf message; /* of which not all frames have come */
	bool is_over;
};

/* Takes bytes; what has to be said at once (pongs, our close) is added to `out`. *ret_used is less than all
 * when takes_more() said no. False: the connection ends when `out` is written; not to be called again. */
AR_MUST_USE bool ar_ws_feed(struct ar_ws_codec *c, struct ar_str bytes, struct ar_buf *out, size_t *ret_used);

/* Whether a message or frame has begun and is not complete. */
bool ar_ws_is_amid(const struct ar_ws_codec *c);

/* One whole frame of a server. */
void ar_ws_write_text(struct ar_buf *out, struct ar_str text);
void ar_ws_write_binary(struct ar_buf *out, struct ar_str bytes);
void ar_ws_write_ping(struct ar_buf *out);
void ar_ws_write_close(struct ar_buf *out, unsigned code, struct ar_str reason);

/* One whole frame of a client, masked. */
void ar_ws_client_binary(struct ar_buf *out, struct ar_str bytes);
void ar_ws_client_ping(struct ar_buf *out);
void ar_ws_client_close(struct ar_buf *out, unsigned code, struct ar_str reason);

void ar_ws_codec_fini(struct ar_ws_codec *c);
void ar_ws_spare_fini(struct ar_ws_spare *s);

#endif
