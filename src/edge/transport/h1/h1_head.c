/* Strict reading of a request head: token names, no folding, no bare CR or LF, one Host, one meaning of the
 * length. Leaves the body and the framing itself to the parser library (h1_codec.c). Pure functions, any
 * thread. */
#include "h1/h1_head.h"

#include <stddef.h>

static bool fault(struct ar_fault *f, int status, const char *why)
{
	*f = (struct ar_fault){ status, why };
	return false;
}

static bool is_alpha(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* What may stand in a token beside letters and digits. */
static const bool marks[256] = {
	['!'] = true,  ['#'] = true, ['$'] = true, ['%'] = true, ['&'] = true,
	['\''] = true, ['*'] = true, ['+'] = true, ['-'] = true, ['.'] = true,
	['^'] = true,  ['_'] = true, ['`'] = true, ['|'] = true, ['~'] = true,
};

static bool is_tchar(char c)
{
	return is_alpha(c) || is_digit(c) || marks[(unsigned char)c];
}

static bool is_token(struct ar_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!is_tchar(s.p[i]))
			return false;
	}
	return s.len > 0;
}

static bool scan_byte(struct ar_h1_scan *s, char c, struct ar_fault *f)
{
	if (s->last == '\r' && c != '\n')
		return fault(f, 400, "a line ends with CR alone");
	if (c == '\n') {
		if (s->last != '\r')
			return fault(f, 400, "a line ends with LF alone");
		if (!s->has_line && !s->has_lines)
			return fault(f, 400, "the request line is empty");
		s->is_over = !s->has_line;
		s->has_lines = true;
		s->has_line = false;
	} else if (c != '\r') {
		if (((unsigned char)c < 0x20 && c != '\t') || c == 0x7f)
			return fault(f, 400, "the head contains a control character");
		if (!s->has_lines && !s->has_line && !is_alpha(c))
			return fault(f, 400, "this is not an HTTP request");
		s->has_line = true;
	}
	s->last = c;
	return true;
}

static bool is_plain(char c)
{
	return (unsigned char)c >= 0x20 && c != 0x7f;
}

/* Inside a line plain bytes change nothing but what the last one was. */
static size_t skip_plain(struct ar_h1_scan *s, struct ar_str bytes, size_t i)
{
	size_t from = i;

	if (!s->has_line || s->last == '\r')
		return i;
	while (i < bytes.len && is_plain(bytes.p[i]))
		i++;
	if (i > from)
		s->last = bytes.p[i - 1];
	return i;
}

size_t ar_h1_scan(struct ar_h1_scan *s, struct ar_str bytes, struct ar_fault *ret_fault)
{
	size_t i = 0;

	while (!s->is_over && (i = skip_plain(s, bytes, i)) < bytes.len) {
		if (!scan_byte(s, bytes.p[i++], ret_fault))
			break;
	}
	return i;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct ar_str trim(struct ar_str s)
{
	while (s.len && is_blank(s.p[0]))
		s = ar_str_sub(s, 1, s.len);
	while (s.len && is_blank(s.p[s.len - 1]))
		s.len--;
	return s;
}

/* The next line without its CRLF. The scan has made sure that every LF follows a CR. */
static struct ar_str next_line(struct ar_str *rest)
{
	struct ar_str line;

	*rest = ar_str_split(*rest, '\n', &line);
	return ar_str_sub(line, 0, line.len ? line.len - 1 : 0);
}

static bool read_version(struct ar_str version, struct ar_h1_head *h, struct ar_fault *f)
{
	h->is_1_0 = ar_str_is(version, "HTTP/1.0");
	if (h->is_1_0 || ar_str_is(version, "HTTP/1.1"))
		return true;
	if (version.len == 8 && ar_str_starts(version, AR_STR("HTTP/")))
		return fault(f, 505, "only HTTP/1.1 and HTTP/1.0 are supported");
	return fault(f, 400, "the request line has no HTTP version");
}

static bool read_request_line(struct ar_str line, struct ar_h1_head *h, struct ar_fault *f)
{
	struct ar_str rest = ar_str_split(line, ' ', &h->request.method);
	struct ar_str version = ar_str_split(rest, ' ', &h->request.target);

	if (ar_str_absent(rest) || ar_str_absent(version) || !is_token(h->request.method) ||
	    ar_str_empty(h->request.target))
		return fault(f, 400, "the request line is not 'METHOD target HTTP/1.1'");
	for (size_t i = 0; i < h->request.target.len; i++) {
		unsigned char c = (unsigned char)h->request.target.p[i];

		if (c <= ' ' || c >= 0x7f || c == '#')
			return fault(f, 400, "the target contains a byte that has to be percent-encoded");
	}
	return read_version(version, h, f);
}

/* Those that only matter to the framing; each may come once, as those of the request. */
static const struct {
	struct ar_str name;
	size_t at;
} framing[] = {
	{ { "content-length", 14 }, offsetof(struct ar_h1_head, content_length) },
	{ { "transfer-encoding", 17 }, offsetof(struct ar_h1_head, transfer_encoding) },
	{ { "expect", 6 }, offsetof(struct ar_h1_head, expect) },
};

static struct ar_str *slot_of(struct ar_str name, struct ar_h1_head *h)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(framing); i++) {
		if (name.len == framing[i].name.len && ar_is_word(name, framing[i].name.p))
			return (struct ar_str *)(void *)((char *)h + framing[i].at);
	}
	return ar_http_head_slot(&h->request, name);
}

static bool read_field(struct ar_str line, struct ar_h1_head *h, struct ar_fault *f)
{
	struct ar_str name, value, *slot;

	if (is_blank(line.p[0]))
		return fault(f, 400, "a header is folded over two lines");
	value = ar_str_split(line, ':', &name);
	if (ar_str_absent(value))
		return fault(f, 400, "a header line has no colon");
	if (!is_token(name))
		return fault(f, 400, "a header name contains an invalid byte");
	slot = slot_of(name, h);
	if (!slot)
		return true;
	if (!ar_str_absent(*slot))
		return fault(f, 400, "a header that must be unique is sent twice");
	*slot = trim(value);
	return true;
}

static bool read_length(struct ar_h1_head *h, struct ar_fault *f)
{
	if (!ar_str_absent(h->transfer_encoding)) {
		if (!ar_str_absent(h->content_length) || h->is_1_0)
			return fault(f, 400, "Transfer-Encoding is sent with Content-Length or in HTTP/1.0");
		if (!ar_is_word(h->transfer_encoding, "chunked"))
			return fault(f, 400, "the only supported Transfer-Encoding is 'chunked'");
		h->is_chunked = true;
		return true;
	}
	if (ar_str_absent(h->content_length))
		return true;
	if (!ar_str_to_u64(h->content_length, &h->length))
		return fault(f, 400, "Content-Length is not a number");
	return true;
}

bool ar_h1_head_read(struct ar_str raw, struct ar_h1_head *ret, struct ar_fault *ret_fault)
{
	struct ar_str rest = raw, line = next_line(&rest);

	*ret = (struct ar_h1_head){ 0 };
	if (!read_request_line(line, ret, ret_fault))
		return false;
	for (line = next_line(&rest); line.len; line = next_line(&rest)) {
		if (!read_field(line, ret, ret_fault))
			return false;
	}
	if (ar_str_absent(ret->request.host) && !ret->is_1_0)
		return fault(ret_fault, 400, "the Host header is missing");
	return read_length(ret, ret_fault);
}
