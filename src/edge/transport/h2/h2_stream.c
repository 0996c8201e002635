/* The request side of a stream, its deadlines and its end. The answer is h2_answer.c's.
 * Owner: the loop thread. */
#include "h2/h2_stream.h"
#include "mem.h"
#include "server.h"

#define HEADER_OVERHEAD 32 /* of each field, as RFC 9113 counts */
#define HEADS_POLITELY \
	4 /* times the limit, that are read to be answered: each byte of a block can mean kilobytes */
#define BODIES_PER_CONNECTION 4 /* of the largest size, that may be gathered at once */

/* ---- the beginning and the end ---- */

static void set_deadline(struct ar_h2_stream *s, enum ar_deadline_kind kind)
{
	ar_server_set_deadline(s->conn->link->server, &s->deadline, kind);
}

/* It is answered and need not be sent to its end. */
static void stop_request(struct ar_h2_stream *s)
{
	ar_deadline_clear(&s->deadline);
	nghttp2_submit_rst_stream(s->conn->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
	ar_h2_wake(s->conn);
}

static void on_expired(struct ar_deadline *d)
{
	struct ar_h2_stream *s = AR_CONTAINER_OF(d, struct ar_h2_stream, deadline);
	struct ar_http_counters *counters = &s->conn->link->server->counters;

	if (d->kind == AR_DEADLINE_HEARTBEAT) {
		ar_h2_answer_beat(s);
		return;
	}
	if (d->kind == AR_DEADLINE_LINGER) {
		stop_request(s);
		return;
	}
	counters->timeouts++;
	if (!s->is_answered && s->carrier.request && d->kind != AR_DEADLINE_WRITE) {
		ar_http_request_fault(s->carrier.request,
				      &(struct ar_fault){ 408, "the request did not arrive in time" });
		return;
	}
	counters->streams_cut += s->is_streaming;
	nghttp2_submit_rst_stream(s->conn->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_CANCEL);
	ar_h2_wake(s->conn);
}

struct ar_h2_stream *ar_h2_stream_new(struct ar_h2_conn *h, int32_t id)
{
	struct ar_h2_stream *s = ar_new0(sizeof *s);
	struct ar_h2_request *r = ar_new0(sizeof *r);

	s->conn = h;
	s->id = id;
	s->carrier = (struct ar_carrier){ .v = &ar_h2_carrier,
					  .server = h->link->server,
					  .source = &h->link->source };
	ar_http_request_init(&r->base, &s->carrier);
	r->base.head = &r->head;
	r->body.cap = h->link->server->limits.body_bytes;
	s->carrier.request = &r->base;
	ar_list_init(&s->drained);
	ar_deadline_init(&s->deadline, on_expired);
	ar_list_push(&h->streams, &s->node);
	h->stream_count++;
	set_deadline(s, AR_DEADLINE_HEADER);
	return s;
}

void ar_h2_drop_request(struct ar_h2_stream *s)
{
	struct ar_h2_request *r;

	if (!s->carrier.request)
		return;
	r = ar_h2_request_of(s);
	s->conn->is_authenticated = s->conn->is_authenticated || r->base.is_authenticated;
	s->conn->body_bytes -= r->counted;
	ar_http_request_fini(&r->base);
	ar_buf_fini(&r->body);
	ar_free(r);
	s->carrier.request = NULL;
}

static void release(struct ar_h2_stream *s)
{
	struct ar_h2_conn *h = s->conn;

	if (!ar_carrier_fini(&s->carrier))
		return;
	ar_h2_drop_request(s);
	ar_h2_answer_fini(s);
	ar_list_del(&s->node);
	ar_list_del(&s->drained);
	ar_free(s);
	ar_h2_forget(h);
}

void ar_h2_stream_close(struct ar_h2_stream *s)
{
	s->is_gone = s->is_answered = true;
	ar_deadline_clear(&s->deadline);
	ar_carrier_stop(&s->carrier);
	release(s);
}

void ar_h2_stream_released(struct ar_carrier *c)
{
	release(ar_h2_stream_of(c));
}

/* ---- the request ---- */

static void fault(struct ar_h2_request *r, int status, const char *why)
{
	if (!r->fault.status)
		r->fault = (struct ar_fault){ status, why };
}

/* :authority is Host under another name; where both come they have to agree. */
static struct ar_str *slot_of(struct ar_h2_request *r, struct ar_str name, struct ar_str value)
{
	struct ar_str *slot = NULL;

	if (ar_str_is(name, ":method"))
		return &r->head.method;
	if (ar_str_is(name, ":path"))
		return &r->head.target;
	if (name.p[0] != ':')
		slot = ar_http_head_slot(&r->head, name);
	else if (ar_str_is(name, ":authority"))
		slot = &r->head.host;
	if (slot == &r->head.host && !ar_str_absent(*slot) && ar_str_eq(*slot, value))
		return NULL;
	return slot;
}

/* What nghttp2 does not judge of the headers that concern the body. */
static void read_framing(struct ar_h2_request *r, struct ar_str name, struct ar_str value)
{
	uint64_t length;

	if (ar_str_is(name, "expect")) {
		r->is_expecting = ar_is_word(value, "100-continue");
		if (!r->is_expecting)
			fault(r, 417, "the only supported Expect is 100-continue");
	} else if (ar_str_to_u64(value, &length) && length > r->body.cap) {
		fault(r, 413, "the body is larger than this server accepts");
	}
}

static void take_header(struct ar_h2_request *r, struct ar_str name, struct ar_str value)
{
	struct ar_str *slot;

	if (ar_str_is(name, "expect") || ar_str_is(name, "content-length")) {
		read_framing(r, name, value);
		return;
	}
	slot = slot_of(r, name, value);
	if (!slot)
		return;
	if (!ar_str_absent(*slot))
		fault(r, 400, "a header that must be unique is sent twice");
	*slot = ar_arena_str(&r->base.pool, value);
}

bool ar_h2_stream_header(struct ar_h2_stream *s, struct ar_str name, struct ar_str value)
{
	struct ar_h2_request *r = ar_h2_request_of(s);
	size_t limit = s->carrier.server->limits.head_bytes;

	r->head_bytes += name.len + value.len + HEADER_OVERHEAD;
	if (r->head_bytes > limit)
		fault(r, 431, "the headers are larger than this server accepts");
	if (!r->fault.status && name.len)
		take_header(r, name, value);
	return r->head_bytes <= HEADS_POLITELY * limit;
}

/* What a path may consist of is the same as in HTTP/1. */
static bool is_target(struct ar_str target)
{
	for (size_t i = 0; i < target.len; i++) {
		unsigned char c = (unsigned char)target.p[i];

		if (c <= ' ' || c >= 0x7f || c == '#')
			return false;
	}
	return target.len && target.p[0] == '/';
}

static void go_on(struct ar_h2_stream *s)
{
	const nghttp2_nv status = { (uint8_t *)":status", (uint8_t *)"100", 7, 3, NGHTTP2_NV_FLAG_NONE };

	nghttp2_submit_headers(s->conn->session, NGHTTP2_FLAG_NONE, s->id, NULL, &status, 1, NULL);
	ar_h2_wake(s->conn);
}

static void ask_for_body(struct ar_h2_stream *s)
{
	if (ar_h2_request_of(s)->is_expecting)
		go_on(s);
}

void ar_h2_stream_head(struct ar_h2_stream *s, bool is_last)
{
	struct ar_h2_request *r = ar_h2_request_of(s);

	if (ar_str_absent(r->head.target) || !is_target(r->head.target))
		fault(r, 400, "the path is empty, or contains a byte that has to be percent-encoded");
	set_deadline(s, AR_DEADLINE_BODY);
	if (r->fault.status) {
		ar_http_request_fault(&r->base, &r->fault);
		return;
	}
	if (!ar_http_request_check(&r->base))
		return;
	if (is_last)
		ar_h2_stream_run(s);
	else if (ar_http_request_admit(&r->base))
		ask_for_body(s);
	else if (!s->is_answered)
		ar_deadline_clear(&s->deadline); /* it is ours to go on */
}

void ar_h2_stream_admitted(struct ar_carrier *c)
{
	struct ar_h2_stream *s = ar_h2_stream_of(c);

	if (s->is_answered)
		return;
	set_deadline(s, AR_DEADLINE_BODY);
	nghttp2_session_consume_stream(s->conn->session, s->id, s->held_bytes);
	s->held_bytes = 0;
	ask_for_body(s);
	ar_h2_wake(s->conn);
}

static void count_body(struct ar_h2_conn *h, struct ar_h2_request *r, size_t bytes)
{
	h->body_bytes += bytes;
	r->counted += bytes;
}

/* Authentication has the request: it cannot be answered now. */
static void hold_body(struct ar_h2_stream *s, struct ar_str bytes)
{
	struct ar_h2_request *r = ar_h2_request_of(s);

	s->held_bytes += bytes.len;
	ar_buf_adds(&r->body, bytes);
	if (!r->body.failed) {
		count_body(s->conn, r, bytes.len);
		return;
	}
	s->is_answered = true;
	nghttp2_submit_rst_stream(s->conn->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_REFUSED_STREAM);
}

void ar_h2_stream_body(struct ar_h2_stream *s, struct ar_str bytes)
{
	struct ar_h2_conn *h = s->conn;
	struct ar_h2_request *r;

	if (s->is_answered) {
		s->late_bytes += bytes.len;
		if (s->late_bytes > s->carrier.server->limits.body_bytes &&
		    s->deadline.kind == AR_DEADLINE_LINGER)
			stop_request(s);
		return;
	}
	if (!s->carrier.request)
		return;
	r = ar_h2_request_of(s);
	if (r->base.is_calling) {
		hold_body(s, bytes);
		return;
	}
	if (h->body_bytes + bytes.len > BODIES_PER_CONNECTION * r->body.cap) {
		ar_http_request_refuse(&r->base, AR_ERR_OVERLOADED,
				       "too many large bodies come over this connection at once", 0);
		return;
	}
	if (!ar_http_request_may_grow(&r->base, bytes.len, r->body.len + bytes.len))
		return;
	ar_buf_adds(&r->body, bytes);
	if (r->body.failed)
		ar_http_request_fault(&r->base, &(struct ar_fault){
							413, "the body is larger than this server accepts" });
	else
		count_body(h, r, bytes.len);
}

void ar_h2_stream_run(struct ar_h2_stream *s)
{
	struct ar_h2_request *r;

	s->is_whole = true;
	if (s->is_answered || !s->carrier.request)
		return;
	r = ar_h2_request_of(s);
	ar_deadline_clear(&s->deadline);
	r->base.content = ar_buf_str(&r->body);
	r->base.content_buf = &r->body;
	ar_http_request_run(&r->base);
}
