/* How foreign bytes are written for a model, and how names written so are read back. Knows no file system. */
#include "shown.h"

#include <string.h>

void ar_shown_add_text(struct ar_buf *out, struct ar_str s)
{
	size_t good = 0, at = 0;

	while (at < s.len) {
		size_t n = ar_str_utf8_len(ar_str_sub(s, at, 4));

		if (n > 0) {
			at += n;
			continue;
		}
		ar_buf_add(out, s.p + good, at - good);
		ar_buf_addz(out, "\xef\xbf\xbd");
		good = ++at;
	}
	ar_buf_add(out, s.p + good, s.len - good);
}

static bool is_plain(struct ar_str path)
{
	if (path.len > 0 && path.p[0] == '"')
		return false;
	for (size_t i = 0; i < path.len; i++) {
		if ((unsigned char)path.p[i] < ' ' || path.p[i] == 0x7f)
			return false;
	}
	return ar_str_is_utf8(path);
}

/* Letters of the escapes that have one, in pairs: the byte, its letter. */
static const char escapes[] = "\\\\\"\"\nn\tt\rr";

static char letter_of(char c)
{
	for (size_t i = 0; i + 1 < sizeof(escapes); i += 2) {
		if (escapes[i] == c)
			return escapes[i + 1];
	}
	return 0;
}

static char byte_of(char letter)
{
	for (size_t i = 0; i + 1 < sizeof(escapes); i += 2) {
		if (escapes[i + 1] == letter)
			return escapes[i];
	}
	return 0;
}

void ar_shown_add_path(struct ar_buf *out, struct ar_str path)
{
	if (is_plain(path)) {
		ar_buf_adds(out, path);
		return;
	}
	ar_buf_addc(out, '"');
	for (size_t i = 0; i < path.len;) {
		size_t n = ar_str_utf8_len(ar_str_sub(path, i, 4));
		unsigned char c = (unsigned char)path.p[i];

		if (letter_of((char)c))
			ar_buf_addf(out, "\\%c", letter_of((char)c));
		else if (n == 0 || c < ' ' || c == 0x7f)
			ar_buf_addf(out, "\\x%02x", c);
		else
			ar_buf_add(out, path.p + i, n);
		i += n > 0 ? n : 1;
	}
	ar_buf_addc(out, '"');
}

struct ar_str ar_shown_path(struct ar_arena *a, struct ar_str path)
{
	AR_AUTO(ar_buf_fini) struct ar_buf b = { 0 };

	ar_shown_add_path(&b, path);
	return ar_arena_str(a, ar_buf_str(&b));
}

static int hex(char c)
{
	const char *digits = "0123456789abcdef0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;

	return at ? (int)((at - digits) % 16) : -1;
}

/* Reads one escape behind a backslash; returns its length, 0: it is none. */
static size_t read_escape(struct ar_str s, char *ret)
{
	if (s.len >= 1 && byte_of(s.p[0])) {
		*ret = byte_of(s.p[0]);
		return 1;
	}
	if (s.len < 3 || s.p[0] != 'x' || hex(s.p[1]) < 0 || hex(s.p[2]) < 0)
		return 0;
	*ret = (char)(hex(s.p[1]) * 16 + hex(s.p[2]));
	return *ret ? 3 : 0; /* a NUL would cut the path short */
}

struct ar_str ar_shown_read_path(struct ar_arena *a, struct ar_str shown)
{
	if (shown.len < 2 || shown.p[0] != '"' || shown.p[shown.len - 1] != '"')
		return shown;
	struct ar_str inner = ar_str_sub(shown, 1, shown.len - 2);
	AR_AUTO(ar_buf_fini) struct ar_buf b = { 0 };

	for (size_t i = 0; i < inner.len; i++) {
		char c = inner.p[i];

		if (c == '\\') {
			size_t n = read_escape(ar_str_sub(inner, i + 1, 3), &c);

			if (n == 0)
				return shown;
			i += n;
		}
		ar_buf_addc(&b, c);
	}
	return ar_arena_str(a, ar_buf_str(&b));
}
