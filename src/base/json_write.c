/* JSON writing: the ar_jw functions of json.h. Commas and escapes are handled here; balance (every open
 * has its close, every key its value) is the caller's. No state beyond the writer, so any thread may write
 * its own. */
#include "json.h"
#include "clock.h"

#include <math.h>
#include <string.h>

/* ---- strings ---- */

/* The letter after the backslash, 'u' for \u00XX, 0 for bytes that stand for themselves. */
static const char escapes[128] = {
	'u',	     'u',	    'u', 'u', 'u', 'u', 'u', 'u',
	'b',	     't',	    'n', 'u', 'f', 'r', 'u', 'u', /* 0x00 */
	'u',	     'u',	    'u', 'u', 'u', 'u', 'u', 'u',
	'u',	     'u',	    'u', 'u', 'u', 'u', 'u', 'u', /* 0x10 */
	['"'] = '"', ['\\'] = '\\',
};

#define WORD sizeof(uint64_t)
#define ONES 0x0101010101010101u
#define HIGH 0x8080808080808080u

/* Whether one of eight bytes needs a closer look: a control byte, a quote, a backslash, or not ASCII. */
static bool word_is_special(const char *p)
{
	uint64_t v, quote, slash;

	memcpy(&v, p, sizeof v);
	quote = v ^ (ONES * '"');
	slash = v ^ (ONES * '\\');
	return ((v | (v - ONES * 0x20) | (quote - ONES) | (slash - ONES)) & HIGH) != 0;
}

/* The end of the plain ASCII that starts at `i`, in whole words; the last one may overlap the one before. */
static size_t plain_words(struct ar_str s, size_t i)
{
	while (i < s.len && s.len - i >= WORD && !word_is_special(s.p + i))
		i += WORD;
	if (i < s.len && s.len - i < WORD && s.len >= WORD && !word_is_special(s.p + s.len - WORD))
		i = s.len;
	return i;
}

/* Bytes from `at` on that can be copied as they are, well-formed multi-byte sequences included. */
static size_t plain_run(struct ar_str s, size_t at)
{
	size_t i = plain_words(s, at), seq;

	while (i < s.len) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < 0x80) {
			if (escapes[c])
				break;
			i++;
			continue;
		}
		seq = ar_str_utf8_len(ar_str_sub(s, i, 4));
		if (seq == 0)
			break;
		i = plain_words(s, i + seq);
	}
	return i - at;
}

static void add_escaped(struct ar_buf *out, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };

	if (c >= 0x80) {
		ar_buf_adds(out, AR_STR("\xEF\xBF\xBD"));
		return;
	}
	text[1] = escapes[c];
	ar_buf_add(out, text, text[1] == 'u' ? 6 : 2);
}

static void add_mixed(struct ar_buf *out, struct ar_str s, size_t run)
{
	ar_buf_addc(out, '"');
	for (size_t i = 0; i < s.len; i += run + 1, run = plain_run(s, i)) {
		ar_buf_add(out, s.p + i, run);
		if (i + run < s.len)
			add_escaped(out, (unsigned char)s.p[i + run]);
	}
	ar_buf_addc(out, '"');
}

/* ---- structure ---- */

/* Everything is written in one piece: room is asked for once. */
static char *put_bytes(char *at, struct ar_str s)
{
	memcpy(at, s.p, s.len);
	return at + s.len;
}

static char *put_quoted(char *at, struct ar_str s)
{
	*at++ = '"';
	at = put_bytes(at, s);
	*at++ = '"';
	return at;
}

static char *put_comma(const struct ar_jw *w, char *at)
{
	if (w->comma)
		*at++ = ',';
	return at;
}

static void begin_value(struct ar_jw *w)
{
	if (w->comma)
		ar_buf_addc(w->out, ',');
	w->comma = true;
}

static void open_with(struct ar_jw *w, char bracket)
{
	char *at = ar_buf_room(w->out, 2);

	if (at) {
		w->out->len += 1 + (size_t)w->comma;
		*put_comma(w, at) = bracket;
	}
	w->comma = false;
}

static void close_with(struct ar_jw *w, char bracket)
{
	ar_buf_addc(w->out, bracket);
	w->comma = true;
}

void ar_jw_open(struct ar_jw *w)
{
	open_with(w, '{');
}

void ar_jw_close(struct ar_jw *w)
{
	close_with(w, '}');
}

void ar_jw_open_array(struct ar_jw *w)
{
	open_with(w, '[');
}

void ar_jw_close_array(struct ar_jw *w)
{
	close_with(w, ']');
}

#define NAME_EXTRA ((size_t)4) /* a comma, two quotes and a colon */

static char *put_name(const struct ar_jw *w, char *at, struct ar_str name)
{
	at = put_quoted(put_comma(w, at), name);
	*at++ = ':';
	return at;
}

void ar_jw_name(struct ar_jw *w, struct ar_str name)
{
	char *at = ar_buf_room(w->out, name.len + NAME_EXTRA);

	if (at)
		w->out->len = (size_t)(put_name(w, at, name) - w->out->p);
	w->comma = false;
}

/* ---- values ---- */

void ar_jw_raw(struct ar_jw *w, struct ar_str json)
{
	struct ar_str text = ar_str_absent(json) ? AR_STR("null") : json;
	char *at = ar_buf_room(w->out, text.len + 1);

	if (at)
		w->out->len = (size_t)(put_bytes(put_comma(w, at), text) - w->out->p);
	w->comma = true;
}

void ar_jw_null(struct ar_jw *w)
{
	ar_jw_raw(w, AR_STR_NONE);
}

/* Most strings need no escape. */
void ar_jw_str(struct ar_jw *w, struct ar_str s)
{
	size_t run;
	char *at;

	if (ar_str_absent(s)) {
		ar_jw_null(w);
		return;
	}
	run = plain_run(s, 0);
	if (run < s.len) {
		begin_value(w);
		add_mixed(w->out, s, run);
		return;
	}
	at = ar_buf_room(w->out, s.len + 3);
	if (at)
		w->out->len = (size_t)(put_quoted(put_comma(w, at), s) - w->out->p);
	w->comma = true;
}

void ar_jw_int(struct ar_jw *w, int64_t v)
{
	char text[20];
	size_t at = sizeof text;
	uint64_t rest = v < 0 ? -(uint64_t)v : (uint64_t)v;

	do
		text[--at] = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (v < 0)
		text[--at] = '-';
	ar_jw_raw(w, (struct ar_str){ text + at, sizeof text - at });
}

void ar_jw_num(struct ar_jw *w, double v)
{
	char text[AR_JSON_NUM_TEXT];

	if (!isfinite(v)) {
		ar_jw_null(w);
		return;
	}
	ar_jw_raw(w, (struct ar_str){ text, ar_json_num_text(v, text) });
}

void ar_jw_bool(struct ar_jw *w, bool v)
{
	ar_jw_raw(w, v ? AR_STR("true") : AR_STR("false"));
}

void ar_jw_time(struct ar_jw *w, ar_usec t)
{
	char text[AR_TIME_TEXT + 2] = { '"' };

	ar_time_format(t, text + 1);
	text[AR_TIME_TEXT] = '"';
	ar_jw_raw(w, (struct ar_str){ text, AR_TIME_TEXT + 1 });
}

/* ---- members ---- */

void ar_jw_name_str(struct ar_jw *w, struct ar_str name, struct ar_str s)
{
	char *at;

	if (plain_run(s, 0) < s.len) {
		ar_jw_name(w, name);
		ar_jw_str(w, s);
		return;
	}
	at = ar_buf_room(w->out, name.len + s.len + NAME_EXTRA + 2);
	if (at)
		w->out->len = (size_t)(put_quoted(put_name(w, at, name), s) - w->out->p);
	w->comma = true;
}

void ar_jw_name_raw(struct ar_jw *w, struct ar_str name, struct ar_str json)
{
	char *at = ar_buf_room(w->out, name.len + json.len + NAME_EXTRA);

	if (at)
		w->out->len = (size_t)(put_bytes(put_name(w, at, name), json) - w->out->p);
	w->comma = true;
}

void ar_jw_texts(struct ar_jw *w, struct ar_texts texts)
{
	ar_jw_open_array(w);
	for (size_t i = 0; i < texts.count; i++)
		ar_jw_str(w, texts.at[i]);
	ar_jw_close_array(w);
}
