/* See json_text.h. */
#include "json_text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the UTF-8 character that stands here; 0: there is none. Overlong forms, surrogates and what lies
 * beyond are none. */
static size_t utf8_len(const unsigned char *s)
{
	uint32_t c = 0;
	size_t len = s[0] < 0x80		   ? 1
		     : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		     : (s[0] & 0xf0) == 0xe0	   ? 3
		     : (s[0] & 0xf8) == 0xf0	   ? 4
						   : 0;

	if (len < 2)
		return len;
	c = s[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3fu);
	}
	if ((len == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) ||
	    (len == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 0;
	return len;
}

size_t ar_json_character(const char *text, char out[AR_JSON_CHARACTER_MAX])
{
	const unsigned char *s = (const unsigned char *)text;
	size_t len = utf8_len(s);

	if (len == 0) {
		snprintf(out, AR_JSON_CHARACTER_MAX, "\\ufffd");
		return 1;
	}
	if (len == 1 && (s[0] < 0x20 || s[0] == '"' || s[0] == '\\')) {
		snprintf(out, AR_JSON_CHARACTER_MAX, "\\u%04x", s[0]);
		return 1;
	}
	memcpy(out, text, len);
	out[len] = '\0';
	return len;
}
