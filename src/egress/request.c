/* See request.h. The head is read by lines that end with CR LF; nothing else ends one. */
#include "request.h"

#include <string.h>
#include <strings.h>

static enum ar_egress_read refuse(struct ar_egress_request *r, int status, const char *why)
{
	r->status = status;
	r->why = why;
	return AR_EGRESS_REFUSED;
}

static bool is_token(struct ar_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c <= ' ' || c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", c))
			return false;
	}
	return s.len > 0;
}

static bool is_text(struct ar_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7f)
			return false;
	}
	return true;
}

static bool is_word(struct ar_str s, const char *word)
{
	return s.len == strlen(word) && strncasecmp(s.p, word, s.len) == 0;
}

/* host[:port], nothing else: no user, no path. */
static bool read_authority(struct ar_str text, uint16_t port, struct ar_egress_request *r)
{
	struct ar_str host = text;
	uint64_t number = port;
	size_t at = text.len;

	while (at > 0 && text.p[at - 1] != ':' && text.p[at - 1] != ']')
		at--;
	if (at > 0 && text.p[at - 1] == ':') {
		host = ar_str_sub(text, 0, at - 1);
		if (!ar_str_to_u64(ar_str_sub(text, at, text.len), &number))
			return false;
	}
	if (number == 0 || number > 65535 || memchr(host.p, '@', host.len))
		return false;
	r->port = (uint16_t)number;
	return ar_egress_host(host, r->host);
}

/* ---- the first line ---- */

static bool read_target(struct ar_str target, struct ar_egress_request *r, struct ar_str *ret_path)
{
	static const struct ar_str scheme = { "http://", 7 };
	struct ar_str rest;
	size_t end = 0;

	if (r->is_connect)
		return read_authority(target, 0, r);
	if (target.len <= scheme.len || strncasecmp(target.p, scheme.p, scheme.len) != 0)
		return false;
	rest = ar_str_sub(target, scheme.len, target.len);
	while (end < rest.len && rest.p[end] != '/' && rest.p[end] != '?' && rest.p[end] != '#')
		end++;
	*ret_path = ar_str_sub(rest, end, rest.len);
	return !memchr(target.p, '#', target.len) && read_authority(ar_str_sub(rest, 0, end), 80, r);
}

static bool read_first(struct ar_str line, struct ar_egress_request *r)
{
	struct ar_str target, version = ar_str_split(line, ' ', &r->method), path = AR_STR_NONE;

	version = ar_str_split(version, ' ', &target);
	if (ar_str_absent(version) || !is_token(r->method) || !is_text(target))
		return false;
	r->is_connect = ar_str_is(r->method, "CONNECT");
	if (!ar_str_is(version, "HTTP/1.1") && !ar_str_is(version, "HTTP/1.0"))
		return false;
	if (!read_target(target, r, &path))
		return false;
	if (!r->is_connect)
		ar_buf_addf(&r->head, "%.*s %s%.*s HTTP/1.1\r\n", AR_STR_ARG(r->method),
			    ar_str_starts(path, AR_STR("/")) ? "" : "/", AR_STR_ARG(path));
	return true;
}

/* ---- headers ---- */

struct seen {
	bool host, length;
};

static bool is_hop(struct ar_str name)
{
	static const char *const names[] = {
		"connection", "keep-alive", "proxy-connection", "proxy-authorization",
		"te",	      "trailer",    "upgrade"
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(names); i++) {
		if (is_word(name, names[i]))
			return true;
	}
	return false;
}

/* What it names has to be what the line named. */
static bool is_same_host(struct ar_str value, const struct ar_egress_request *r)
{
	struct ar_egress_request other = { 0 };

	return read_authority(value, r->is_connect ? r->port : 80, &other) &&
	       strcmp(other.host, r->host) == 0 && other.port == r->port;
}

/* NULL, or why it cannot be. */
static const char *parse_header(struct ar_str line, struct ar_egress_request *r, struct seen *seen)
{
	struct ar_str name, value = ar_str_split(line, ':', &name);

	if (ar_str_absent(value) || !is_token(name) || !is_text(value))
		return "a header line is not valid";
	value = ar_str_trim(value, " \t");
	if (is_word(name, "host")) {
		if (seen->host || !is_same_host(value, r))
			return "the Host header differs from the request line";
		seen->host = true;
	}
	if (is_word(name, "transfer-encoding"))
		return "a body without a length is not passed on; use https";
	if (is_word(name, "content-length")) {
		if (seen->length || !ar_str_to_u64(value, &r->body))
			return "the length of the body is not clear";
		seen->length = true;
	}
	if (!r->is_connect && !is_hop(name))
		ar_buf_addf(&r->head, "%.*s: %.*s\r\n", AR_STR_ARG(name), AR_STR_ARG(value));
	return NULL;
}

/* The next line without its CR LF; absent: there is none. A CR or LF alone makes the line
 * what is_text refuses, or none. */
static struct ar_str next_line(struct ar_str bytes, size_t *at)
{
	const char *end = memmem(bytes.p + *at, bytes.len - *at, "\r\n", 2);
	struct ar_str line;

	if (!end)
		return AR_STR_NONE;
	line = (struct ar_str){ bytes.p + *at, (size_t)(end - bytes.p) - *at };
	*at += line.len + 2;
	return line;
}

static enum ar_egress_read read_whole(struct ar_str bytes, struct ar_egress_request *r)
{
	struct seen seen = { 0 };
	size_t at = 0;
	struct ar_str line = next_line(bytes, &at);

	if (!is_text(line) || !read_first(line, r))
		return refuse(r, 400,
			      "the proxy accepts CONNECT host:port, or a request for an http:// address");
	for (line = next_line(bytes, &at); !ar_str_empty(line); line = next_line(bytes, &at)) {
		const char *why = parse_header(line, r, &seen);

		if (why)
			return refuse(r, 400, why);
	}
	if (!r->is_connect)
		ar_buf_addz(&r->head, seen.host ? "Connection: close\r\n\r\n" : "");
	if (!r->is_connect && !seen.host)
		return refuse(r, 400, "the Host header is missing");
	r->size = at;
	return AR_EGRESS_WHOLE;
}

enum ar_egress_read ar_egress_request_read(struct ar_str bytes, struct ar_egress_request *ret)
{
	const char *end = memmem(bytes.p, bytes.len, "\r\n\r\n", 4);

	*ret = (struct ar_egress_request){ 0 };
	if (!end)
		return bytes.len < AR_EGRESS_HEAD_MAX ? AR_EGRESS_MORE
						      : refuse(ret, 431, "the head is too long");
	return read_whole((struct ar_str){ bytes.p, (size_t)(end - bytes.p) + 4 }, ret);
}

void ar_egress_request_fini(struct ar_egress_request *r)
{
	ar_buf_fini(&r->head);
}
