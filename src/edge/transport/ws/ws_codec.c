/* See ws_codec.h. */
#include "ws/ws_codec.h"
#include "mem.h"

#include <string.h>
#include <wslay/wslay.h>

#define MASK_BYTES 4
#define REASON_BYTES 123
#define HEAD_BYTES 10 /* of a frame of ours, at most */

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

static uint64_t size_on_wire(uint64_t payload)
{
	return payload + 2 + MASK_BYTES + (payload < 126 ? 0 : payload <= UINT16_MAX ? 2 : 8);
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

	r->framed += size_on_wire(a->payload_length);
	r->is_control = wslay_is_ctrl_frame(a->opcode);
	if (a->opcode == WSLAY_CONNECTION_CLOSE && a->payload_length == 1)
		give_up(w, c, AR_WS_PROTOCOL_ERROR, AR_STR("the close code is incomplete"));
	if (r->is_control)
		return;
	r->is_amid = !a->fin;
	if (a->opcode == WSLAY_BINARY_FRAME)
		give_up(w, c, AR_WS_NOT_TEXT, AR_STR("text only"));
	else if (a->payload_length > c->cap - c->message.len)
		give_up(w, c, AR_WS_TOO_LARGE, AR_STR("the message is larger than limits.max_body_bytes"));
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
	c->v->text(c, ar_buf_str(&message));
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

static struct ar_ws_reader *reader_new(void)
{
	static const struct wslay_event_callbacks callbacks = {
		.recv_callback = on_recv,
		.send_callback = on_send,
		.on_frame_recv_start_callback = on_frame_start,
		.on_frame_recv_chunk_callback = on_frame_chunk,
		.on_msg_recv_callback = on_message,
	};
	struct ar_ws_reader *r = ar_new0(sizeof *r);

	if (wslay_event_context_server_init(&r->wslay, &callbacks, r) != 0) {
		ar_free(r);
		return NULL;
	}
	wslay_event_config_set_no_buffering(r->wslay, 1);
	return r;
}

static struct ar_ws_reader *reader_of(struct ar_ws_codec *c)
{
	if (!c->reader) {
		c->reader = c->spare->reader ? c->spare->reader : reader_new();
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
	/* wslay does not tell a peer what was wrong with the head of a frame: it closes without a code. */
	if (has_failed && !c->is_over) {
		out->len -= out->len >= said + 2 && ar_str_ends(ar_buf_str(out), AR_STR("\x88\x00")) ? 2 : 0;
		ar_ws_write_close(out, AR_WS_PROTOCOL_ERROR, AR_STR(""));
	}
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

static void write_frame(struct ar_buf *out, unsigned opcode, struct ar_str payload)
{
	unsigned bytes = payload.len < 126 ? 0 : payload.len <= UINT16_MAX ? 2 : 8;

	ar_buf_room(out, HEAD_BYTES + payload.len); /* at once, not step by step */
	ar_buf_addc(out, (char)(0x80 | opcode));
	ar_buf_addc(out, (char)(bytes == 0 ? payload.len : bytes == 2 ? 126 : 127));
	while (bytes--)
		ar_buf_addc(out, (char)(payload.len >> (8 * bytes)));
	ar_buf_adds(out, payload);
}

void ar_ws_write_text(struct ar_buf *out, struct ar_str text)
{
	write_frame(out, WSLAY_TEXT_FRAME, text);
}

void ar_ws_write_ping(struct ar_buf *out)
{
	write_frame(out, WSLAY_PING, AR_STR(""));
}

void ar_ws_write_close(struct ar_buf *out, unsigned code, struct ar_str reason)
{
	char payload[2 + REASON_BYTES] = { (char)(code >> 8), (char)code };

	reason = ar_str_utf8_prefix(reason, REASON_BYTES);
	memcpy(payload + 2, reason.p, reason.len);
	write_frame(out, WSLAY_CONNECTION_CLOSE, (struct ar_str){ payload, 2 + reason.len });
}
