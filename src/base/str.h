/* A borrowed run of bytes: pointer and length travel together. p == NULL means "absent", which is
 * not the same as empty. Nothing here owns memory. */
#ifndef AR_BASE_STR_H
#define AR_BASE_STR_H

#include "compiler.h"

#include <stdbool.h>
#include <stdint.h>

struct ar_str {
	const char *p;
	size_t len;
};

/* A borrowed list of strings; at == NULL means "absent", which is not the same as empty. */
struct ar_texts {
	const struct ar_str *at;
	size_t count;
};

/* A list without entries that is not absent. */
extern const struct ar_texts ar_texts_empty;

/* A list written out: AR_TEXTS(AR_STR("a"), AR_STR("b")); it lives as long as the block around it. */
#define AR_TEXTS(...) \
	((struct ar_texts){ (const struct ar_str[]){ __VA_ARGS__ }, \
			    sizeof((const struct ar_str[]){ __VA_ARGS__ }) / sizeof(struct ar_str) })

/* Microseconds: since the epoch for wall time, since some fixed point for monotonic time. */
typedef int64_t ar_usec;

/* Optional scalars: a zeroed one is absent. */
struct ar_opt_int {
	int64_t v;
	bool set;
};

struct ar_opt_num {
	double v;
	bool set;
};

struct ar_opt_bool {
	bool v;
	bool set;
};

#define AR_STR(literal) ((struct ar_str){ "" literal, sizeof(literal) - 1 })
#define AR_STR_NONE ((struct ar_str){ NULL, 0 })
#define AR_OPT_INT(value) ((struct ar_opt_int){ (value), true })
#define AR_OPT_BOOL(value) ((struct ar_opt_bool){ (value), true })

/* printf("%.*s", AR_STR_ARG(s)) */
#define AR_STR_ARG(s) (int)(s).len, (s).p

AR_BEGIN_DECLS

/* Wraps a C string; NULL gives an absent string. Here, as the next two, so that the
 * compiler counts what it knows. */
static inline struct ar_str ar_str_from(const char *cstr)
{
	struct ar_str s = { cstr, cstr ? __builtin_strlen(cstr) : 0 };

	return s;
}

/* Byte equality; absent equals only absent. */
static inline bool ar_str_eq(struct ar_str a, struct ar_str b)
{
	if (!a.p || !b.p)
		return !a.p && !b.p;
	return a.len == b.len && __builtin_memcmp(a.p, b.p, a.len) == 0;
}

static inline bool ar_str_is(struct ar_str a, const char *cstr)
{
	return ar_str_eq(a, ar_str_from(cstr));
}

/* <0, 0, >0 like memcmp, shorter first among equal prefixes. */
int ar_str_cmp(struct ar_str a, struct ar_str b);

bool ar_str_starts(struct ar_str s, struct ar_str prefix);
bool ar_str_ends(struct ar_str s, struct ar_str suffix);

/* The part after the first `from` bytes, at most `len` long; clamped to the string. */
struct ar_str ar_str_sub(struct ar_str s, size_t from, size_t len);

bool ar_texts_have(struct ar_texts texts, struct ar_str text);
bool ar_texts_eq(struct ar_texts a, struct ar_texts b); /* the same texts in the same order */
struct ar_str ar_texts_first(struct ar_texts texts); /* that is not absent; absent: all are */

/* Splits at the first `sep`: *ret_head is before it, the return value after it (absent when there is
 * none). */
struct ar_str ar_str_split(struct ar_str s, char sep, struct ar_str *ret_head);

/* Without any of these characters at its beginning and its end. */
struct ar_str ar_str_trim(struct ar_str s, const char *chars);

/* Whole-string decimal; false on sign for u64, overflow, empty or any other byte. */
bool ar_str_to_u64(struct ar_str s, uint64_t *ret);
bool ar_str_to_i64(struct ar_str s, int64_t *ret);

/* Longest prefix of at most `max` bytes that does not end inside a UTF-8 sequence. */
struct ar_str ar_str_utf8_prefix(struct ar_str s, size_t max);
bool ar_str_is_utf8(struct ar_str s);
bool ar_str_is_text(struct ar_str s); /* UTF-8 without NUL */

/* Text of 1 to max bytes without control characters: it can stand between other lines. */
bool ar_str_is_line(struct ar_str s, size_t max);

/* Length (1..4) of the well-formed UTF-8 sequence that s starts with; 0 when it starts with none. */
size_t ar_str_utf8_len(struct ar_str s);

/* Whether it is an absolute path that names one file in one way: no empty part, ".", ".." or NUL, and not
 * the root itself. */
bool ar_str_is_plain_path(struct ar_str s);

/* Which of several names was meant by a mistyped word. `found` is the shortest name that begins with
 * the word, else the nearest by edit distance; absent when none is near. */
struct ar_meant {
	struct ar_str word, found;
	size_t distance; /* of what is taken next: less than this */
};

struct ar_meant ar_meant(struct ar_str word);
void ar_meant_try(struct ar_meant *n, struct ar_str name);

static inline bool ar_str_absent(struct ar_str s)
{
	return s.p == NULL;
}

static inline bool ar_str_empty(struct ar_str s)
{
	return s.len == 0;
}

AR_END_DECLS

#endif
