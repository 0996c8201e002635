/* JSON in and out.
 *
 * Reading: one parser object per thread; a parsed document is valid until the parser's next parse. The
 * input needs no padding (the parser copies it). Strict: invalid UTF-8, duplicate keys, depth over 64,
 * numbers that do not fit are refused, and so are documents over 64 MiB. Behind it is simdjson
 * (json_read.cc); no C++ type or exception crosses.
 *
 * Writing: straight into an ar_buf, commas and escapes handled, nothing re-printed that can be relayed
 * raw. */
#ifndef AR_BASE_JSON_H
#define AR_BASE_JSON_H

#include "arena.h"
#include "buf.h"
#include "status.h"

enum ar_json_type {
	AR_JSON_NONE, /* absent: what a lookup of a missing key gives */
	AR_JSON_NULL,
	AR_JSON_BOOL,
	AR_JSON_INT, /* fits int64_t */
	AR_JSON_NUM,
	AR_JSON_STR,
	AR_JSON_ARRAY,
	AR_JSON_OBJECT,
};

/* A value inside a parsed document; plain data, copy freely. A zeroed one is absent. */
struct ar_json {
	const void *doc;
	size_t at;
};

struct ar_json_iter {
	struct ar_json value;
	struct ar_str name; /* member name while walking an object, absent in an array */
	const void *doc; /* the rest is internal */
	size_t next, end;
	bool object;
};

struct ar_json_parser;

AR_BEGIN_DECLS

struct ar_json_parser *ar_json_parser_new(void);
void ar_json_parser_free(struct ar_json_parser *p);

AR_MUST_USE enum ar_status ar_json_parse(struct ar_json_parser *p, struct ar_str text, struct ar_json *ret,
					 struct ar_error *err);

/* The values of the document are not needed any more: gives back the memory of a large one. */
void ar_json_parser_trim(struct ar_json_parser *p);

enum ar_json_type ar_json_type(struct ar_json v);
struct ar_json ar_json_get(struct ar_json object, const char *name); /* absent when not there or no object */
struct ar_json ar_json_at(struct ar_json array, size_t index);
size_t ar_json_len(struct ar_json array_or_object);

/* Value accessors: false (and *ret untouched) when the type is another. Strings are borrowed from the
 * document. */
bool ar_json_str(struct ar_json v, struct ar_str *ret);
bool ar_json_i64(struct ar_json v, int64_t *ret);
bool ar_json_num(struct ar_json v, double *ret); /* also takes integers */
bool ar_json_bool(struct ar_json v, bool *ret);

/* for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) use(it.name, it.value); arrays and
 * objects. */
struct ar_json_iter ar_json_iter(struct ar_json v);
bool ar_json_next(struct ar_json_iter *it);
struct ar_json ar_json_name(const struct ar_json_iter *it); /* the member's name as a string value */

/* The text of a finite double (no NUL), always with a dot or an exponent so that it reads back as
 * AR_JSON_NUM. Lives beside the reader because shortest round-trip printing without the locale is C++
 * <charconv>. */
#define AR_JSON_NUM_TEXT 32
size_t ar_json_num_text(double v, char out[AR_JSON_NUM_TEXT]);

/* Writes the value back as compact JSON (member order kept, integers exact, doubles shortest round-trip).
 * An absent value prints as null. */
void ar_json_print(struct ar_json v, struct ar_buf *out);

/* ---- writing ---- */

struct ar_jw {
	struct ar_buf *out;
	bool comma; /* a comma is due before the next member or element */
};

static inline struct ar_jw ar_jw(struct ar_buf *out)
{
	return (struct ar_jw){ out, false };
}

void ar_jw_open(struct ar_jw *w); /* { */
void ar_jw_close(struct ar_jw *w); /* } */
void ar_jw_open_array(struct ar_jw *w);
void ar_jw_close_array(struct ar_jw *w);

/* The name of a member; its value must follow. Names are written as they are: they are the
 * program's own and need no escape. */
void ar_jw_name(struct ar_jw *w, struct ar_str name);

static inline void ar_jw_key(struct ar_jw *w, const char *name)
{
	ar_jw_name(w, (struct ar_str){ name, __builtin_strlen(name) });
}

void ar_jw_str(struct ar_jw *w, struct ar_str s); /* a bad UTF-8 byte becomes U+FFFD; absent becomes null */
void ar_jw_int(struct ar_jw *w, int64_t v);
void ar_jw_num(struct ar_jw *w, double v); /* shortest round-trip text; NaN and infinity become null */
void ar_jw_bool(struct ar_jw *w, bool v);
void ar_jw_null(struct ar_jw *w);
void ar_jw_time(struct ar_jw *w, ar_usec t); /* RFC 3339, UTC, microseconds */
void ar_jw_texts(struct ar_jw *w, struct ar_texts texts); /* an array of strings */
void ar_jw_raw(struct ar_jw *w, struct ar_str json); /* trusted JSON as it is; absent becomes null */

/* A member whose value is not absent: name and value in one piece. For ar_jw_mstr and ar_jw_mraw. */
void ar_jw_name_str(struct ar_jw *w, struct ar_str name, struct ar_str s);
void ar_jw_name_raw(struct ar_jw *w, struct ar_str name, struct ar_str json);

/* Member shorthands; the str, raw, texts and time forms write nothing when the value is absent
 * (time: 0). They are here so that the lengths of names are counted by the compiler. */
static inline void ar_jw_mstr(struct ar_jw *w, const char *name, struct ar_str s)
{
	if (!ar_str_absent(s))
		ar_jw_name_str(w, (struct ar_str){ name, __builtin_strlen(name) }, s);
}

static inline void ar_jw_mraw(struct ar_jw *w, const char *name, struct ar_str json)
{
	if (!ar_str_absent(json))
		ar_jw_name_raw(w, (struct ar_str){ name, __builtin_strlen(name) }, json);
}

static inline void ar_jw_mtexts(struct ar_jw *w, const char *name, struct ar_texts texts)
{
	if (!texts.at)
		return;
	ar_jw_key(w, name);
	ar_jw_texts(w, texts);
}

static inline void ar_jw_mint(struct ar_jw *w, const char *name, int64_t v)
{
	ar_jw_key(w, name);
	ar_jw_int(w, v);
}

static inline void ar_jw_mbool(struct ar_jw *w, const char *name, bool v)
{
	ar_jw_mraw(w, name, v ? AR_STR("true") : AR_STR("false"));
}

static inline void ar_jw_mtime(struct ar_jw *w, const char *name, ar_usec t)
{
	if (t == 0)
		return;
	ar_jw_key(w, name);
	ar_jw_time(w, t);
}

AR_END_DECLS

#endif
