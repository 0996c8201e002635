/* Text from elsewhere (a model, a title, an error of a peer) may hold orders for the terminal, and
 * characters that nobody sees. Here it becomes text that only shows. Stateless. */
#ifndef AR_BASE_HARMLESS_H
#define AR_BASE_HARMLESS_H

#include "buf.h"

enum ar_harmless {
	AR_HARMLESS_TEXT, /* newlines and tabs stay */
	AR_HARMLESS_LINE, /* they become spaces */
	AR_HARMLESS_JSON, /* they stay, and escapes are those of JSON */
};

/* Adds the text with controls and unseen characters written as \u{202E}; what is no UTF-8 is replaced. */
void ar_harmless_add(struct ar_buf *to, struct ar_str text, enum ar_harmless form);

/* Whether a character is one of those. */
bool ar_harmless_is_unseen(uint32_t c);

/* The character that a well-formed sequence of `len` bytes (1..4) stands for. */
uint32_t ar_harmless_decode(const char *p, size_t len);

#endif
