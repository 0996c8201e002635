/* Fuzz target: any bytes as a model's Markdown, in two pieces, on a terminal: what a frame holds is
 * text, line ends and the few sequences of the renderer. */
#include "markdown.h"
#include "screen.h"
#include "status.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void print(void *arg, struct ar_str line, bool is_whole)
{
	if (is_whole)
		ar_tty_print_whole(arg, line);
	else
		ar_tty_print(arg, line, 0);
}

static size_t sequence_len(struct ar_str s)
{
	size_t n = 2;

	AR_ASSERT(s.len > 2 && s.p[1] == '[');
	while (n < s.len && strchr("0123456789;?", s.p[n]))
		n++;
	AR_ASSERT(n < s.len && strchr("ACJmhl", s.p[n]));
	return n + 1;
}

static void check(struct ar_str frame)
{
	AR_ASSERT(ar_str_is_utf8(frame));
	for (size_t i = 0; i < frame.len;) {
		unsigned char c = (unsigned char)frame.p[i];

		AR_ASSERT(c >= 0x20 || c == '\r' || c == '\n' || c == 0x1b);
		AR_ASSERT(c != 0x7f && !(c == 0xc2 && (unsigned char)frame.p[i + 1] < 0xa0));
		i += c == 0x1b ? sequence_len(ar_str_sub(frame, i, frame.len)) : 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_str text = { (const char *)bytes, len };
	struct ar_tty_screen screen = { .cols = 40, .rows = 12, .has_colour = true };
	struct ar_md_out out = { print, &screen, 39 };
	struct ar_md m = { 0 };
	struct ar_buf frame = { 0 };

	ar_md_feed(&m, ar_str_sub(text, 0, len / 2), &out);
	ar_md_show_open(&m, &out);
	ar_md_feed(&m, ar_str_sub(text, len / 2, len), &out);
	ar_md_end(&m, &out);
	ar_tty_live(&screen, AR_STR("> \n"), 0, 2);
	ar_tty_frame(&screen, 0, &frame);
	check(ar_buf_str(&frame));
	ar_buf_fini(&frame);
	ar_md_fini(&m);
	ar_tty_fini(&screen);
	return 0;
}
