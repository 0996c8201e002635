/* See process.h. Terminals take orders inside the text they show; those for colours and the cursor pass,
 * those that reach the clipboard, the title, links or the device are dropped whole, however they are cut. */
#include "process/process.h"

enum {
	PLAIN,
	ESCAPE, /* after ESC */
	STRING, /* inside an order that ends with BEL or ST */
	STRING_ESCAPE, /* inside one, after ESC */
};

#define ESC 0x1b
#define BEL 0x07

static bool opens_string(unsigned char c)
{
	return c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X';
}

void ar_screen_feed(struct ar_screen *s, struct ar_str bytes, struct ar_buf *out)
{
	for (size_t i = 0; i < bytes.len; i++) {
		unsigned char c = (unsigned char)bytes.p[i];

		switch (s->state) {
		case PLAIN:
			if (c == ESC)
				s->state = ESCAPE;
			else
				ar_buf_addc(out, (char)c);
			break;
		case ESCAPE:
			s->state = opens_string(c) ? STRING : PLAIN;
			if (s->state == PLAIN) {
				ar_buf_addc(out, ESC);
				ar_buf_addc(out, (char)c);
			}
			break;
		case STRING:
			if (c == ESC)
				s->state = STRING_ESCAPE;
			else if (c == BEL)
				s->state = PLAIN;
			break;
		default:
			s->state = c == '\\' ? PLAIN : STRING;
		}
	}
}
