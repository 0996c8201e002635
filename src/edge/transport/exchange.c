/* One request and its answer: who may ask (loopback rules, the key of a peer), what answers (router), how the input is
 * made, and the call into the core. The connection carries the bytes. Owner: the loop thread. */
#include "forward.h"
#include "hash.h"
#include "input.h"
#include "loopback.h"
#include "mem.h"

/* Which error of the catalogue a broken request is; any other status is invalid_input. */
static const struct {
	int status;
	uint16_t code;
} fault_codes[] = {
	{ 408, AR_ERR_TIMEOUT },     { 413, AR_ERR_PAYLOAD_TOO_LARGE }, { 431, AR_ERR_HEADER_TOO_LARGE },
	{ 501, AR_ERR_UNAVAILABLE }, { 505, AR_ERR_UNAVAILABLE },
};

struct ar_exchange *ar_exchange_new(struct ar_conn *c)
{
	struct ar_exchange *x = ar_new0(sizeof *x);

	x->conn = c;
	ar_list_init(&x->settle);
	ar_h1_init(&x->h1, &c->server->limits);
	return x;
}

void ar_exchange_free(struct ar_exchange *x)
{
	ar_settle_drop(x);
	ar_h1_fini(&x->h1);
	ar_call_fini(&x->call);
	ar_buf_fini(&x->input);
	ar_buf_fini(&x->text);
	ar_free(x);
}

void ar_exchange_answer(struct ar_exchange *x, int status, struct ar_str body)
{
	bool is_head = ar_str_is(x->h1.head.method, "HEAD");

	x->reply.status = status;
	x->reply.body = is_head ? AR_STR("") : body;
	if (!x->h1.is_keepalive || x->conn->server->is_draining)
		x->reply.is_close = true;
	ar_conn_reply(x->conn);
}

void ar_exchange_refuse(struct ar_exchange *x, uint16_t code, const char *message, int status)
{
	int usual;

	ar_buf_clear(&x->text);
	usual = ar_control_error(code, message, &x->text);
	ar_exchange_answer(x, status ? status : usual, ar_buf_str(&x->text));
}

void ar_exchange_fault(struct ar_exchange *x, const struct ar_h1_fault *f)
{
	uint16_t code = AR_ERR_INVALID_INPUT;

	for (size_t i = 0; i < AR_ARRAY_LEN(fault_codes); i++) {
		if (fault_codes[i].status == f->status)
			code = fault_codes[i].code;
	}
	x->conn->server->counters.refused++;
	x->reply.is_close = true;
	ar_exchange_refuse(x, code, f->why, f->status);
}

static bool refuse_early(struct ar_exchange *x, uint16_t code, const char *why)
{
	x->conn->server->counters.refused++;
	x->reply.is_close = true;
	ar_exchange_refuse(x, code, why, 0);
	return false;
}

/* A browser page from elsewhere must not reach us: neither by a name that was rebound to loopback (Host) nor
 * by a cross-site request (Origin, and content types that a form can send). The unix socket is out of a
 * browser's reach. */
static bool check_source(struct ar_exchange *x)
{
	const struct ar_h1_head *h = &x->h1.head;
	struct ar_str authority = x->target.authority;

	if (!x->conn->is_unix) {
		if (!ar_str_absent(h->host) && !ar_loopback_host(h->host))
			return refuse_early(x, AR_ERR_NOT_AUTHORIZED,
					    "the Host header does not name this machine");
		if (!ar_str_absent(authority) && !ar_loopback_host(authority))
			return refuse_early(x, AR_ERR_NOT_AUTHORIZED,
					    "the target does not name this machine");
	}
	if (!ar_str_absent(h->origin) && !ar_loopback_origin(h->origin))
		return refuse_early(x, AR_ERR_NOT_AUTHORIZED, "the Origin header does not name this machine");
	return true;
}

/* Whoever has no key learns nothing here, not even what exists. */
static bool check_peer(struct ar_exchange *x)
{
	struct ar_str scheme, key = ar_str_split(x->h1.head.authorization, ' ', &scheme);

	if (!ar_str_empty(key) && ar_h1_is_word(scheme, "bearer") &&
	    ar_hash_is_same(key, ar_str_from(x->conn->server->peers.key)))
		return true;
	return refuse_early(x, AR_ERR_AUTH_FAILED,
			    "only nodes of this cluster, with its key, are answered here");
}

static bool check_content_type(struct ar_exchange *x)
{
	struct ar_str type;

	if (!ar_str_is(x->h1.head.method, "POST") || ar_str_absent(x->h1.head.content_type))
		return true;
	ar_str_split(x->h1.head.content_type, ';', &type);
	while (type.len && type.p[type.len - 1] == ' ')
		type.len--;
	if (ar_h1_is_word(type, "application/json"))
		return true;
	return refuse_early(x, AR_ERR_UNSUPPORTED_MEDIA_TYPE, "the body has to be application/json");
}

static bool answer_expect(struct ar_exchange *x)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	uv_buf_t buf = uv_buf_init((char *)go_on, sizeof go_on - 1);

	if (ar_str_absent(x->h1.head.expect) || x->h1.head.is_1_0)
		return true;
	if (!ar_h1_is_word(x->h1.head.expect, "100-continue")) {
		ar_exchange_fault(x,
				  &(struct ar_h1_fault){ 417, "the only Expect known here is 100-continue" });
		return false;
	}
	/* A socket that cannot take 25 bytes belongs to a peer that does not read its earlier replies. */
	if (ar_h1_awaits_body(&x->h1) && uv_try_write(&x->conn->u.stream, &buf, 1) != (int)buf.len) {
		ar_conn_close(x->conn);
		return false;
	}
	return true;
}

bool ar_exchange_check(struct ar_exchange *x)
{
	if (x->conn->is_peer && !check_peer(x))
		return false;
	if (!ar_target_parse(x->h1.head.target, &x->target)) {
		ar_exchange_fault(x, &(struct ar_h1_fault){
					     400, "the target is neither a path nor an http:// address" });
		return false;
	}
	return (x->conn->is_peer || check_source(x)) && check_content_type(x) && answer_expect(x);
}

static void call_done(struct ar_call *call)
{
	struct ar_exchange *x = AR_CONTAINER_OF(call, struct ar_exchange, call);

	x->is_calling = false;
	if (x->conn->state == AR_CONN_CLOSED)
		ar_conn_release(x->conn);
	else if (call->place == AR_PLACE_PEER)
		ar_forward_open(x, call->peer);
	else if (call->place == AR_PLACE_UNSETTLED)
		ar_settle_wait(x);
	else
		ar_exchange_answer(x, call->http, ar_buf_str(&call->reply));
}

static void start_call(struct ar_exchange *x)
{
	ar_call_fini(&x->call);
	x->call = (struct ar_call){ .command = x->command->id,
				    .body = x->body,
				    .account = AR_STR("local"),
				    .is_from_peer = x->conn->is_peer,
				    .done = call_done };
	x->is_calling = true;
	ar_control_call(x->conn->server->control, &x->call);
}

void ar_exchange_verify(struct ar_exchange *x)
{
	x->call = (struct ar_call){ .body = ar_buf_str(&x->h1.body), .done = call_done };
	x->is_calling = true;
	ar_control_verify(x->conn->server->control, &x->call);
}

void ar_exchange_start(struct ar_exchange *x)
{
	if (x->command->id == AR_CMD_SUBSCRIBE_EVENTS)
		ar_sse_open(x);
	else
		start_call(x);
}

static enum ar_status make_input(struct ar_exchange *x, const struct ar_route *r, struct ar_str *ret,
				 struct ar_error *err)
{
	struct ar_str after = r->kind == AR_ROUTE_EVENTS ? x->h1.head.last_event_id : AR_STR_NONE;
	enum ar_status st = AR_OK;

	*ret = ar_buf_str(&x->h1.body);
	if (!r->is_get && ar_str_absent(after))
		return AR_OK;
	if (r->is_get)
		st = ar_input_from_target(r, x->target.query, after, &x->input, err);
	else
		st = ar_input_with_after(x->conn->server->parser, *ret, after, &x->input, err);
	*ret = ar_buf_str(&x->input);
	return st;
}

static void run_command(struct ar_exchange *x, const struct ar_route *r)
{
	struct ar_error err = { 0 };

	if (make_input(x, r, &x->body, &err) != AR_OK) {
		ar_exchange_refuse(x, err.code, err.msg, 0);
		return;
	}
	x->command = r->command;
	ar_exchange_start(x);
}

/* Peers send commands and nothing else. */
static enum ar_status find_route(const struct ar_exchange *x, struct ar_route *ret, struct ar_error *err)
{
	static const struct ar_command_table table = { ar_command_descs, AR_CMD_COUNT };
	enum ar_status st = ar_route_find(&table, x->h1.head.method, x->target.path, ret, err);

	if (st == AR_OK && x->conn->is_peer && ret->command && ret->is_get) {
		ret->allow = "POST";
		return ar_refuse(err, AR_ERR_METHOD_NOT_ALLOWED, "nodes POST their commands to each other");
	}
	return st;
}

void ar_exchange_run(struct ar_exchange *x)
{
	struct ar_route route;
	struct ar_error err = { 0 };

	x->arrived = uv_now(x->conn->server->loop);
	x->conn->server->counters.requests++;
	if (find_route(x, &route, &err) != AR_OK) {
		x->reply.allow = route.allow;
		ar_exchange_refuse(x, err.code, err.msg, 0);
	} else if (route.command) {
		run_command(x, &route);
	} else {
		ar_ops_answer(x, route.kind);
	}
}
