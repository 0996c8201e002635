/* Addresses of schemas: what a reference means beside the address of the document it stands in
 * (RFC 3986, section 5.2, as far as schemas use it). Pure text; whether an address names
 * anything is decided in refs.c. */
#include "schema_priv.h"

#include <ctype.h>
#include <string.h>

/* The length of `scheme:`; 0 when there is none. */
static size_t scheme_len(struct ar_str uri)
{
	for (size_t i = 0; i < uri.len; i++) {
		unsigned char c = (unsigned char)uri.p[i];

		if (c == ':')
			return i ? i + 1 : 0;
		if (!isalnum(c) && c != '+' && c != '-' && c != '.')
			return 0;
	}
	return 0;
}

/* The length of `scheme://authority`. */
static size_t authority_len(struct ar_str uri)
{
	size_t at = scheme_len(uri);

	if (!ar_str_starts(ar_str_sub(uri, at, uri.len), AR_STR("//")))
		return at;
	for (at += 2; at < uri.len && uri.p[at] != '/';)
		at++;
	return at;
}

static size_t folder_len(struct ar_str uri)
{
	size_t least = authority_len(uri), len = uri.len;

	while (len > least && uri.p[len - 1] != '/')
		len--;
	return len;
}

/* Drops the last folder of what is written so far. */
static void climb(struct ar_buf *b, size_t least)
{
	if (b->len > least)
		b->len--;
	while (b->len > least && b->p[b->len - 1] != '/')
		b->len--;
}

/* Adds a path without its `.` and `..`. */
static void add_path(struct ar_buf *b, size_t least, struct ar_str path)
{
	struct ar_str segment;

	while (!ar_str_absent(path)) {
		bool is_last = !memchr(path.p, '/', path.len);

		path = ar_str_split(path, '/', &segment);
		if (ar_str_is(segment, ".."))
			climb(b, least);
		else if (!ar_str_is(segment, "."))
			ar_buf_adds(b, segment);
		if (!is_last && !ar_str_is(segment, "..") && !ar_str_is(segment, "."))
			ar_buf_addc(b, '/');
	}
}

struct ar_str ar_uri_resolve(struct ar_arena *a, struct ar_str base, struct ar_str ref)
{
	struct ar_buf b = { 0 };
	struct ar_str done;
	size_t least = authority_len(base);

	if (ref.len == 0)
		return base;
	if (scheme_len(ref))
		return ar_arena_str(a, ref);
	if (ar_str_starts(ref, AR_STR("//"))) {
		ar_buf_add(&b, base.p, scheme_len(base));
		ar_buf_adds(&b, ref);
	} else if (ref.p[0] == '/') {
		ar_buf_add(&b, base.p, least);
		add_path(&b, least, ref);
	} else {
		ar_buf_add(&b, base.p, folder_len(base));
		if (least && b.len == least && least > scheme_len(base))
			ar_buf_addc(&b, '/');
		add_path(&b, least, ref);
	}
	done = ar_arena_str(a, ar_buf_str(&b));
	ar_buf_fini(&b);
	return done;
}

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

struct ar_str ar_uri_decode(struct ar_arena *a, struct ar_str text)
{
	char *out = ar_arena_alloc(a, text.len + 1);
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++) {
		bool is_code = text.p[i] == '%' && i + 2 < text.len && hex_of(text.p[i + 1]) >= 0 &&
			       hex_of(text.p[i + 2]) >= 0;

		out[n++] = is_code ? (char)(hex_of(text.p[i + 1]) * 16 + hex_of(text.p[i + 2])) : text.p[i];
		i += is_code ? 2 : 0;
	}
	return (struct ar_str){ out, n };
}
