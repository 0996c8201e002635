/* Bytes of a client after the WebSocket handshake, in arbitrary portions and with pauses, through the codec.
 * A message is UTF-8 and within the cap, whatever comes in, and what goes out is whole frames. */
#include "portions.h"
#include "ws_codec.h"

#define CAP 512

struct reading {
	struct portions how;
	struct ar_ws_codec codec;
	struct ar_ws_spare spare;
};

static void on_text(struct ar_ws_codec *c, struct ar_str text)
{
	struct portions *how = &AR_CONTAINER_OF(c, struct reading, codec)->how;

	if (text.len > CAP || !ar_str_is_utf8(text))
		abort();
	portions_mix(how, "t", 1);
	portions_mix_str(how, text);
	portions_maybe_pause(how);
}

static void on_pong(struct ar_ws_codec *c)
{
	portions_mix(&AR_CONTAINER_OF(c, struct reading, codec)->how, "p", 1);
}

static bool takes_more(struct ar_ws_codec *c)
{
	return !AR_CONTAINER_OF(c, struct reading, codec)->how.is_paused;
}

static const struct ar_ws_codec_vtable callbacks = { on_text, on_pong, takes_more };

/* Frames of a server: not masked, in the shortest form of their length. */
static void check_frames(struct ar_str out, bool is_closed)
{
	char last = 0;

	while (out.len) {
		size_t len = out.len > 1 ? (unsigned char)out.p[1] : 999;

		if (!(out.p[0] & 0x80) || out.p[0] & 0x70 || len > 125 || out.len < 2 + len)
			abort();
		last = out.p[0];
		out = ar_str_sub(out, 2 + len, out.len);
	}
	if (is_closed != ((last & 0x0f) == 0x08))
		abort();
}

static uint64_t read_all(struct portions how, struct ar_str bytes)
{
	struct reading t = { .how = how };
	struct ar_buf out = { 0 };
	bool goes_on = true;

	t.codec = (struct ar_ws_codec){ .v = &callbacks, .spare = &t.spare, .cap = CAP };
	while (goes_on && bytes.len) {
		size_t len = portions_next(&t.how, 1, bytes.len), used;

		t.how.is_paused = false;
		goes_on = ar_ws_feed(&t.codec, ar_str_sub(bytes, 0, len), &out, &used);
		if (used > len || (!used && goes_on))
			abort();
		bytes = ar_str_sub(bytes, used, bytes.len);
	}
	/* Not compared: a ping before a broken frame may lose its pong when both come at once, and the reason
	 * in a close frame is judged sooner or later. */
	check_frames(ar_buf_str(&out), !goes_on);
	ar_buf_fini(&out);
	ar_ws_codec_fini(&t.codec);
	ar_ws_spare_fini(&t.spare);
	return t.how.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	return portions_compare(p, len, read_all);
}
