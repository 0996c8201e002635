/* The request reader: our strict look at the head first, then llhttp (strict build) for the framing of the
 * body, chunked or counted. The head is handed to llhttp only when it is whole, so both have read the very
 * same bytes. */
#include "h1/h1_codec.h"

#include <string.h>

#define KEPT_BYTES ((size_t)16 * 1024) /* of a head or a body, from one request to the next */
#define MAX_EXTENSION_BYTES ((size_t)1024) /* chunk extensions are ignored, but not without end */

static int refuse(struct ar_h1 *h, int status, const char *why)
{
	h->fault = (struct ar_fault){ status, why };
	return HPE_USER;
}

static int on_headers_complete(llhttp_t *p)
{
	struct ar_h1 *h = p->data;

	h->has_head = true;
	h->is_keepalive = llhttp_should_keep_alive(p) && !h->head.is_1_0;
	h->head.request.is_upgrade = p->upgrade;
	return 0;
}

static int on_header_field(llhttp_t *p, const char *at AR_UNUSED, size_t len AR_UNUSED)
{
	struct ar_h1 *h = p->data;

	return h->has_head ? refuse(h, 400, "trailer fields are not accepted") : 0;
}

static int on_body(llhttp_t *p, const char *at, size_t len)
{
	struct ar_h1 *h = p->data;

	ar_buf_add(&h->body, at, len);
	return h->body.failed ? refuse(h, 413, "the body is larger than this server accepts") : 0;
}

static int on_extension(llhttp_t *p, const char *at AR_UNUSED, size_t len)
{
	struct ar_h1 *h = p->data;

	h->extension_bytes += len;
	return h->extension_bytes > MAX_EXTENSION_BYTES ? refuse(h, 400, "the chunk extensions are too long")
							: 0;
}

static int on_message_complete(llhttp_t *p)
{
	struct ar_h1 *h = p->data;

	h->is_done = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_headers_complete = on_headers_complete,
	.on_header_field = on_header_field,
	.on_body = on_body,
	.on_chunk_extension_name = on_extension,
	.on_chunk_extension_value = on_extension,
	.on_message_complete = on_message_complete,
};

void ar_h1_init(struct ar_h1 *h, const struct ar_h1_limits *limits)
{
	*h = (struct ar_h1){ .limits = *limits };
	h->raw.cap = limits->head_bytes;
	h->body.cap = limits->body_bytes;
	llhttp_init(&h->parser, HTTP_REQUEST, &settings);
	h->parser.data = h;
}

void ar_h1_fini(struct ar_h1 *h)
{
	ar_buf_fini(&h->raw);
	ar_buf_fini(&h->body);
}

static struct ar_buf recycle_buf(struct ar_buf buf)
{
	if (buf.room > KEPT_BYTES)
		ar_buf_fini(&buf);
	ar_buf_clear(&buf);
	return buf;
}

void ar_h1_restart(struct ar_h1 *h)
{
	struct ar_h1_limits limits = h->limits;
	struct ar_buf raw = recycle_buf(h->raw), body = recycle_buf(h->body);

	ar_h1_init(h, &limits);
	h->raw = raw;
	h->body = body;
}

/* Runs llhttp; true when it took everything or the request ended (*ret_used then says where). */
static bool run_parser(struct ar_h1 *h, struct ar_str bytes, size_t *ret_used)
{
	llhttp_errno_t e = llhttp_execute(&h->parser, bytes.p, bytes.len);

	*ret_used = bytes.len;
	if (e == HPE_OK)
		return true;
	if (h->is_done && (e == HPE_PAUSED || e == HPE_PAUSED_UPGRADE)) {
		*ret_used = (size_t)(llhttp_get_error_pos(&h->parser) - bytes.p);
		return true;
	}
	if (!h->fault.status)
		refuse(h, 400,
		       h->has_head ? "the framing of the body violates HTTP" : "the head does not parse");
	return false;
}

static enum ar_h1_outcome read_head(struct ar_h1 *h)
{
	struct ar_str raw = ar_buf_str(&h->raw);
	size_t used;

	if (!ar_h1_head_read(raw, &h->head, &h->fault))
		return AR_H1_BAD;
	if (h->head.length > h->limits.body_bytes) {
		refuse(h, 413, "the body is larger than this server accepts");
		return AR_H1_BAD;
	}
	if (!run_parser(h, raw, &used))
		return AR_H1_BAD;
	/* The two readers have to agree on where the head ends and on whether a body follows. */
	if (used != raw.len || !h->has_head || h->is_done != (!h->head.length && !h->head.is_chunked)) {
		refuse(h, 400, "the head is ambiguous");
		return AR_H1_BAD;
	}
	return AR_H1_HEAD;
}

static enum ar_h1_outcome feed_head(struct ar_h1 *h, struct ar_str bytes, size_t *ret_used)
{
	size_t room = h->limits.head_bytes - h->raw.len;

	*ret_used = ar_h1_scan(&h->scan, ar_str_sub(bytes, 0, room), &h->fault);
	if (h->fault.status)
		return AR_H1_BAD;
	ar_buf_add(&h->raw, bytes.p, *ret_used);
	if (h->raw.failed || (!h->scan.is_over && *ret_used < bytes.len)) {
		refuse(h, 431, "the request line and headers are larger than this server accepts");
		return AR_H1_BAD;
	}
	return h->scan.is_over ? read_head(h) : AR_H1_MORE;
}

static void keep_tail(struct ar_h1 *h, struct ar_str bytes)
{
	size_t keep = sizeof h->tail, fresh = bytes.len < keep ? bytes.len : keep;

	memmove(h->tail, h->tail + fresh, keep - fresh);
	memcpy(h->tail + keep - fresh, bytes.p + bytes.len - fresh, fresh);
}

static bool feed_body(struct ar_h1 *h, struct ar_str bytes, size_t *ret_used)
{
	if (!run_parser(h, bytes, ret_used))
		return false;
	if (!h->head.is_chunked)
		return true;
	keep_tail(h, ar_str_sub(bytes, 0, *ret_used));
	/* llhttp takes a bare LF, or a CR and any byte, for the last line end. */
	if (h->is_done && memcmp(h->tail, "\r\n\r\n", sizeof h->tail) != 0) {
		refuse(h, 400, "the last chunk is not followed by an empty line");
		return false;
	}
	return true;
}

enum ar_h1_outcome ar_h1_feed(struct ar_h1 *h, struct ar_str bytes, size_t *ret_used)
{
	*ret_used = 0;
	if (!h->has_head)
		return feed_head(h, bytes, ret_used);
	if (!h->is_done && bytes.len && !feed_body(h, bytes, ret_used))
		return AR_H1_BAD;
	return h->is_done ? AR_H1_DONE : AR_H1_MORE;
}

void ar_h1_take(struct ar_h1 *h, struct ar_str body)
{
	ar_buf_adds(&h->body, body);
	h->has_head = h->is_done = h->is_keepalive = true;
}

bool ar_h1_awaits_body(const struct ar_h1 *h)
{
	return h->has_head && !h->is_done && !h->body.len;
}
