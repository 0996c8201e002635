/* See ws_codec.h. */
#include "ws_codec.h"
#include "mem.h"
#include "status.h"

#include <string.h>
#include <sys/random.h>
#include <wslay/wslay.h>

#define MASK_BYTES 4
#define REASON_BYTES 123
#define HEAD_BYTES 14 /* of a frame of ours, at most */
#define MASKED 0x80

/* wslay's side, with a flag for a partial frame: it was given `taken` bytes, and the frames
 * that it has seen are `framed` bytes long. */
struct ar_ws_reader {
	wslay_event_context_ptr wslay;
	struct ar_ws_codec *codec;
	struct ar_str bytes; /* not given to wslay yet */
	struct ar_buf *out;
	uint64_t taken, framed;
	bool is_control; /* the frame that is being read */
	bool is_amid; /* a message of several frames is */
};

/* ---- callbacks of wslay ---- */

static ssize_t on_recv(wslay_event_context_ptr w, uint8_t *buf, size_t len, int flags AR_UNUSED, void *arg)
{
	struct ar_ws_reader *r = arg;
	size_t n = len < r->bytes.len ? len : r->bytes.len;

	if (!n || r->codec->is_over || !r->codec->v->takes_more(r->codec)) {
		wslay_event_set_error(w, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	memcpy(buf, r->bytes.p, n);
	r->bytes = ar_str_sub(r->bytes, n, r->bytes.len);
	r->taken += n;
	return (ssize_t)n;
}

static ssize_t on_send(wslay_event_context_ptr w AR_UNUSED, const uint8_t *bytes, size_t len,
		       int flags AR_UNUSED, void *arg)
{
	struct ar_ws_reader *r = arg;

	ar_buf_add(r->out, bytes, len);
	return (ssize_t)len;
}

/* The mask hides nothing: it keeps what a client sends from looking like HTTP to what is on the way. */
static void make_mask(uint8_t ret[MASK_BYTES])
{
	AR_ASSERT(getrandom(ret, MASK_BYTES, 0) == MASK_BYTES);
}

static int on_mask(wslay_event_context_ptr w AR_UNUSED, uint8_t *buf, size_t len, void *arg AR_UNUSED)
{
	AR_ASSERT(len == MASK_BYTES);
	make_mask(buf);
	return 0;
}

static uint64_t size_on_wire(const struct ar_ws_codec *c, uint64_t payload)
{
	return payload + 2 + (c->is_client ? 0 : MASK_BYTES) +
	       (payload < 126		? 0
		: payload <= UINT16_MAX ? 2
					: 8);
}

/* Told as soon as the head of the frame is there. */
static void give_up(wslay_event_context_ptr w, struct ar_ws_codec *c, enum ar_ws_close code,
		    struct ar_str reason)
{
	c->is_over = true;
	wslay_event_queue_close(w, (uint16_t)code, (const uint8_t *)reason.p, reason.len);
}

static void on_frame_start(wslay_event_context_ptr w, const struct wslay_event_on_frame_recv_start_arg *a,
			   void *arg)
{
	struct ar_ws_reader *r = arg;
	struct ar_ws_codec *c = r->codec;

	r->framed += size_on_wire(c, a->payload_length);
	r->is_control = wslay_is_ctrl_frame(a->opcode);
	if (a->opcode == WSLAY_CONNECTION_CLOSE && a->payload_length == 1)
		give_up(w, c, AR_WS_PROTOCOL_ERROR, AR_STR("the close code is incomplete"));
	if (r->is_control)
		return;
	r->is_amid = !a->fin;
	if (a->opcode == (c->is_binary ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME))
		give_up(w, c, AR_WS_WRONG_KIND, c->is_binary ? AR_STR("bytes only") : AR_STR("text only"));
	else if (a->payload_length > c->cap - c->message.len)
		give_up(w, c, AR_WS_TOO_LARGE,
			c->is_binary ? AR_STR("the message is too long")
				     : AR_STR("the message is larger than limits.max_body_bytes"));
}

static void on_frame_chunk(wslay_event_context_ptr w AR_UNUSED,
			   const struct wslay_event_on_frame_recv_chunk_arg *a, void *arg)
{
	struct ar_ws_reader *r = arg;

	if (!r->is_control && !r->codec->is_over)
		ar_buf_add(&r->codec->message, a->data, a->data_length);
}

static void on_message(wslay_event_context_ptr w AR_UNUSED, const struct wslay_event_on_msg_recv_arg *a,
		       void *arg)
{
	struct ar_ws_codec *c = ((struct ar_ws_reader *)arg)->codec;
	struct ar_buf message = c->message;

	/* After a close frame of ours nothing counts any more. */
	if (c->is_over)
		return;
	if (a->opcode == WSLAY_PONG)
		c->v->pong(c);
	if (wslay_is_ctrl_frame(a->opcode))
		return;
	c->message = (struct ar_buf){ 0 };
	c->v->message(c, ar_buf_str(&message));
	ar_buf_fini(&message);
}

/* ---- readers ---- */

static void reader_free(struct ar_ws_reader *r)
{
	if (!r)
		return;
	wslay_event_context_free(r->wslay);
	ar_free(r);
}

static struct ar_ws_reader *reader_new(bool is_client)
{
	static const struct wslay_event_callbacks callbacks = {
		.recv_callback = on_recv,
		.send_callback = on_send,
		.on_frame_recv_start_callback = on_frame_start,
		.on_frame_recv_chunk_callback = on_frame_chunk,
		.on_msg_recv_callback = on_message,
		.genmask_callback = on_mask,
	};
	struct ar_ws_reader *r = ar_new0(sizeof *r);
	int rc = is_client ? wslay_event_context_client_init(&r->wslay, &callbacks, r)
			   : wslay_event_context_server_init(&r->wslay, &callbacks, r);

	if (rc != 0) {
		ar_free(r);
		return NULL;
	}
	wslay_event_config_set_no_buffering(r->wslay, 1);
	return r;
}

static struct ar_ws_reader *reader_of(struct ar_ws_codec *c)
{
	if (!c->reader) {
		c->reader = c->spare->reader ? c->spare->reader : reader_new(c->is_client);
		c->spare->reader = NULL;
	}
	if (!c->reader)
		return NULL;
	c->reader->codec = c;
	wslay_event_config_set_max_recv_msg_length(c->reader->wslay, c->cap);
	return c->reader;
}

/* Between two frames, and no message has begun: as good as a new one for the next reader. */
static void give_back(struct ar_ws_codec *c)
{
	struct ar_ws_reader *r = c->reader;

	r->bytes = AR_STR_NONE;
	if (r->taken != r->framed || r->is_amid)
		return;
	c->reader = NULL;
	r->codec = NULL;
	r->taken = r->framed = 0;
	if (c->spare->reader)
		reader_free(r);
	else
		c->spare->reader = r;
}

/* ---- feeding ---- */

/* wslay does not tell a peer what was wrong with the head of a frame: it closes without a code. */
static void write_protocol_error(const struct ar_ws_codec *c, struct ar_buf *out, size_t said)
{
	size_t len = c->is_client ? 2 + MASK_BYTES : 2;
	struct ar_str last =
		ar_str_sub(ar_buf_str(out), out->len - (out->len < len ? out->len : len), out->len);

	if (out->len >= said + len && last.p[0] == '\x88' && last.p[1] == (char)(c->is_client ? MASKED : 0))
		out->len -= len;
	if (c->is_client)
		ar_ws_client_close(out, AR_WS_PROTOCOL_ERROR, AR_STR(""));
	else
		ar_ws_write_close(out, AR_WS_PROTOCOL_ERROR, AR_STR(""));
}

bool ar_ws_feed(struct ar_ws_codec *c, struct ar_str bytes, struct ar_buf *out, size_t *ret_used)
{
	struct ar_ws_reader *r = reader_of(c);
	size_t said = out->len;
	bool has_failed;

	*ret_used = bytes.len;
	if (!r)
		return false;
	r->bytes = bytes;
	r->out = out;
	has_failed = wslay_event_recv(r->wslay) != 0;
	has_failed = wslay_event_send(r->wslay) != 0 || has_failed;
	*ret_used = bytes.len - r->bytes.len;
	if (has_failed && !c->is_over)
		write_protocol_error(c, out, said);
	c->is_over = c->is_over || has_failed || wslay_event_get_close_sent(r->wslay);
	if (!c->is_over) {
		give_back(c);
		return true;
	}
	return false;
}

bool ar_ws_is_amid(const struct ar_ws_codec *c)
{
	return c->reader != NULL;
}

void ar_ws_codec_fini(struct ar_ws_codec *c)
{
	reader_free(c->reader);
	c->reader = NULL;
	ar_buf_fini(&c->message);
}

void ar_ws_spare_fini(struct ar_ws_spare *s)
{
	reader_free(s->reader);
	s->reader = NULL;
}

/* ---- writing ---- */

static void write_head(struct ar_buf *out, unsigned opcode, size_t len, unsigned masked)
{
	unsigned bytes = len < 126 ? 0 : len <= UINT16_MAX ? 2 : 8;

	ar_buf_room(out, HEAD_BYTES + len); /* at once, not step by step */
	ar_buf_addc(out, (char)(0x80 | opcode));
	ar_buf_addc(out, (char)(masked | (bytes == 0 ? len : bytes == 2 ? 126 : 127)));
	while (bytes--)
		ar_buf_addc(out, (char)(len >> (8 * bytes)));
}

static void write_frame(struct ar_buf *out, unsigned opcode, struct ar_str payload)
{
	write_head(out, opcode, payload.len, 0);
	ar_buf_adds(out, payload);
}

static void write_masked(struct ar_buf *out, unsigned opcode, struct ar_str payload)
{
	uint8_t mask[MASK_BYTES];
	char *to;

	make_mask(mask);
	write_head(out, opcode, payload.len, MASKED);
	ar_buf_add(out, mask, sizeof mask);
	to = ar_buf_room(out, payload.len + 1);
	for (size_t i = 0; i < payload.len; i++)
		to[i] = (char)((uint8_t)payload.p[i] ^ mask[i % MASK_BYTES]);
	out->len += payload.len;
}

/* What a close frame says; the room is the caller's. */
static struct ar_str close_payload(char room[2 + REASON_BYTES], unsigned code, struct ar_str reason)
{
	reason = ar_str_utf8_prefix(reason, REASON_BYTES);
	room[0] = (char)(code >> 8);
	room[1] = (char)code;
	memcpy(room + 2, reason.p, reason.len);
	return (struct ar_str){ room, 2 + reason.len };
}

void ar_ws_write_text(struct ar_buf *out, struct ar_str text)
{
	write_frame(out, WSLAY_TEXT_FRAME, text);
}

void ar_ws_write_binary(struct ar_buf *out, struct ar_str bytes)
{
	write_frame(out, WSLAY_BINARY_FRAME, bytes);
}

void ar_ws_write_ping(struct ar_buf *out)
{
	write_frame(out, WSLAY_PING, AR_STR(""));
}

void ar_ws_write_close(struct ar_buf *out, unsigned code, struct ar_str reason)
{
	char room[2 + REASON_BYTES];

	write_frame(out, WSLAY_CONNECTION_CLOSE, close_payload(room, code, reason));
}

void ar_ws_client_binary(struct ar_buf *out, struct ar_str bytes)
{
	write_masked(out, WSLAY_BINARY_FRAME, bytes);
}

void ar_ws_client_ping(struct ar_buf *out)
{
	write_masked(out, WSLAY_PING, AR_STR(""));
}

void ar_ws_client_close(struct ar_buf *out, unsigned code, struct ar_str reason)
{
	char room[2 + REASON_BYTES];

	write_masked(out, WSLAY_CONNECTION_CLOSE, close_payload(room, code, reason));
}
