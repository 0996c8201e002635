/* See keys.h. */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

#define ESC '\033'
#define SEQUENCE_MAX 64 /* a longer one is no key */
#define BURST_MIN 16 /* bytes of one read that may be a paste */
#define PASTE_BEGIN "\033[200~"
#define PASTE_END "\033[201~"

/* ---- pastes ---- */

/* Line ends of any system become newlines; the rest is the reader's to judge. */
static void add_paste(struct ar_keys *k, struct ar_str text)
{
	k->paste.cap = AR_KEYS_PASTE_MAX;
	for (size_t i = 0; i < text.len && !k->paste.failed; i++) {
		if (text.p[i] != '\n' || !k->is_after_cr)
			ar_buf_addc(&k->paste, text.p[i] == '\r' ? '\n' : text.p[i]);
		k->is_after_cr = text.p[i] == '\r';
	}
}

/* Nobody types two lines within one read. */
static bool is_burst(struct ar_str bytes)
{
	if (bytes.len < BURST_MIN || memchr(bytes.p, ESC, bytes.len))
		return false;
	return memchr(bytes.p, '\r', bytes.len - 1) || memchr(bytes.p, '\n', bytes.len - 1);
}

void ar_keys_feed(struct ar_keys *k, struct ar_str bytes)
{
	if (!k->is_bracketed && !k->is_burst && !k->bytes.len)
		k->is_burst = is_burst(bytes);
	if (k->is_burst)
		add_paste(k, bytes);
	else
		ar_buf_adds(&k->bytes, bytes);
}

static bool give_paste(struct ar_keys *k, struct ar_key *ret)
{
	ar_buf_clear(&k->text);
	ar_buf_adds(&k->text, ar_buf_str(&k->paste));
	ar_buf_clear(&k->paste);
	k->paste.failed = k->is_after_cr = false;
	*ret = (struct ar_key){ .kind = AR_KEY_PASTE, .text = ar_buf_str(&k->text) };
	return true;
}

/* Up to the end of the paste, or as much as cannot be a part of that end. */
static bool next_pasted(struct ar_keys *k, struct ar_key *ret)
{
	size_t mark = strlen(PASTE_END);
	const char *end = k->bytes.len ? memmem(k->bytes.p, k->bytes.len, PASTE_END, mark) : NULL;
	size_t len = end ? (size_t)(end - k->bytes.p) : k->bytes.len;

	if (!end)
		len = len >= mark ? len - mark + 1 : 0;
	add_paste(k, ar_str_sub(ar_buf_str(&k->bytes), 0, len));
	ar_buf_eat(&k->bytes, end ? len + mark : len);
	if (!end)
		return false;
	k->is_bracketed = false;
	return give_paste(k, ret);
}

/* ---- sequences ---- */

static const struct {
	const char *text; /* after ESC */
	enum ar_key_kind kind;
} sequences[] = {
	{ "[A", AR_KEY_UP },
	{ "[B", AR_KEY_DOWN },
	{ "[C", AR_KEY_RIGHT },
	{ "[D", AR_KEY_LEFT },
	{ "[H", AR_KEY_HOME },
	{ "[F", AR_KEY_END },
	{ "[1~", AR_KEY_HOME },
	{ "[4~", AR_KEY_END },
	{ "[7~", AR_KEY_HOME },
	{ "[8~", AR_KEY_END },
	{ "[3~", AR_KEY_DELETE },
	{ "[Z", AR_KEY_BACKTAB },
	{ "[1;5C", AR_KEY_WORD_RIGHT },
	{ "[1;5D", AR_KEY_WORD_LEFT },
	{ "[1;3C", AR_KEY_WORD_RIGHT },
	{ "[1;3D", AR_KEY_WORD_LEFT },
	{ "[13;2u", AR_KEY_NEWLINE },
	{ "[27;2;13~", AR_KEY_NEWLINE },
	{ "OA", AR_KEY_UP },
	{ "OB", AR_KEY_DOWN },
	{ "OC", AR_KEY_RIGHT },
	{ "OD", AR_KEY_LEFT },
	{ "OH", AR_KEY_HOME },
	{ "OF", AR_KEY_END },
	{ "\r", AR_KEY_NEWLINE },
	{ "\n", AR_KEY_NEWLINE },
	{ "\x7f", AR_KEY_NONE },
};

/* Bytes of the sequence that begins here, ESC included; 0: it is not whole. */
static size_t sequence_len(struct ar_str s)
{
	size_t n = 2;

	if (s.len < 2)
		return 0;
	if (s.p[1] == 'O')
		return s.len < 3 ? 0 : 3;
	if (s.p[1] != '[')
		return 2;
	while (n < s.len && (unsigned char)s.p[n] < 0x40 && (unsigned char)s.p[n] >= 0x20)
		n++;
	if (n >= SEQUENCE_MAX)
		return SEQUENCE_MAX;
	return n < s.len ? n + 1 : 0;
}

/* ESC [ row ; column R */
static bool is_position(struct ar_str s, struct ar_key *ret)
{
	struct ar_str column = ar_str_split(ar_str_sub(s, 2, s.len), ';', &(struct ar_str){ 0 });
	uint64_t n;

	if (!ar_str_starts(s, AR_STR("\033[")) || !ar_str_ends(column, AR_STR("R")) ||
	    !ar_str_to_u64(ar_str_sub(column, 0, column.len - 1), &n) || n == 0 || n > 100000)
		return false;
	*ret = (struct ar_key){ .kind = AR_KEY_POSITION, .value = (int)n - 1 };
	return true;
}

static struct ar_key key_of(struct ar_str s)
{
	struct ar_key key = { 0 };

	for (size_t i = 0; i < AR_ARRAY_LEN(sequences); i++) {
		if (ar_str_is(ar_str_sub(s, 1, s.len), sequences[i].text))
			return (struct ar_key){ .kind = sequences[i].kind };
	}
	if (ar_str_is(s, "\033[I") || ar_str_is(s, "\033[O"))
		return (struct ar_key){ .kind = AR_KEY_FOCUS, .value = s.p[2] == 'I' };
	if (!is_position(s, &key) && s.len == 2 && s.p[1] >= ' ' && s.p[1] < 0x7f)
		key = (struct ar_key){ .kind = AR_KEY_ALT, .letter = s.p[1] };
	return key;
}

/* False: it is not whole yet. A key of kind NONE is to be passed over. */
static bool next_sequence(struct ar_keys *k, bool is_idle, struct ar_key *ret)
{
	struct ar_str s = ar_buf_str(&k->bytes);
	size_t len = s.len > 1 && s.p[1] == ESC ? 1 : sequence_len(s);

	if (!len && !is_idle)
		return false;
	if (len <= 1) {
		*ret = (struct ar_key){ .kind = AR_KEY_ESC };
		len = 1;
	} else if (ar_str_is(ar_str_sub(s, 0, len), PASTE_BEGIN)) {
		k->is_bracketed = true;
		*ret = (struct ar_key){ 0 };
	} else {
		*ret = key_of(ar_str_sub(s, 0, len));
	}
	ar_buf_eat(&k->bytes, len);
	return true;
}

/* ---- text ---- */

static struct ar_key control_key(char c)
{
	switch (c) {
	case '\r':
		return (struct ar_key){ .kind = AR_KEY_ENTER };
	case '\n':
		return (struct ar_key){ .kind = AR_KEY_NEWLINE };
	case '\t':
		return (struct ar_key){ .kind = AR_KEY_TAB };
	case '\b':
	case 0x7f:
		return (struct ar_key){ .kind = AR_KEY_BACKSPACE };
	default:
		return c >= 1 && c <= 26
			       ? (struct ar_key){ .kind = AR_KEY_CTRL, .letter = (char)('a' + c - 1) }
			       : (struct ar_key){ 0 };
	}
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

/* A run of text; a character of which a part is missing waits for the rest. */
static bool next_text(struct ar_keys *k, bool is_idle, struct ar_key *ret)
{
	struct ar_str s = ar_buf_str(&k->bytes), whole;
	size_t len = 0;

	if (is_control(s.p[0])) {
		*ret = control_key(s.p[0]);
		ar_buf_eat(&k->bytes, 1);
		return true;
	}
	while (len < s.len && !is_control(s.p[len]))
		len++;
	whole = ar_str_utf8_prefix(ar_str_sub(s, 0, len), len);
	if (!whole.len && !is_idle)
		return false;
	len = whole.len ? whole.len : len;
	ar_buf_clear(&k->text);
	ar_buf_add(&k->text, k->bytes.p, len);
	ar_buf_eat(&k->bytes, len);
	*ret = (struct ar_key){ .kind = AR_KEY_TEXT, .text = ar_buf_str(&k->text) };
	return true;
}

bool ar_keys_next(struct ar_keys *k, bool is_idle, struct ar_key *ret)
{
	*ret = (struct ar_key){ 0 };
	if (k->is_burst) {
		k->is_burst = !is_idle;
		return is_idle && give_paste(k, ret);
	}
	while (k->bytes.len && ret->kind == AR_KEY_NONE) {
		bool is_there = k->is_bracketed	       ? next_pasted(k, ret)
				: k->bytes.p[0] == ESC ? next_sequence(k, is_idle, ret)
						       : next_text(k, is_idle, ret);

		if (!is_there)
			return false;
	}
	return ret->kind != AR_KEY_NONE;
}

bool ar_keys_wait(const struct ar_keys *k)
{
	return k->is_burst || (k->bytes.len && !k->is_bracketed);
}

void ar_keys_fini(struct ar_keys *k)
{
	ar_buf_fini(&k->bytes);
	ar_buf_fini(&k->paste);
	ar_buf_fini(&k->text);
}
