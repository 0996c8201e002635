/* One request and its answer: who may ask (loopback rules, the key of a peer), what answers (router), how the input is
 * made, and the call into the core. The carrier has the bytes. Owner: the loop thread. */
#include "describe.h"
#include "authenticate.h"
#include "exchange.h"
#include "hash.h"
#include "input.h"
#include "peer/forward.h"
#include "server.h"
#include "trace.h"
#include "sse.h"

/* Which error of the catalogue a broken request is; any other status is invalid_input. */
static const struct {
	int status;
	uint16_t code;
} fault_codes[] = {
	{ 408, AR_ERR_TIMEOUT },     { 413, AR_ERR_PAYLOAD_TOO_LARGE }, { 431, AR_ERR_HEADER_TOO_LARGE },
	{ 501, AR_ERR_UNAVAILABLE }, { 503, AR_ERR_OVERLOADED },	{ 505, AR_ERR_UNAVAILABLE },
};

void ar_exchange_init(struct ar_exchange *x, struct ar_carrier *c)
{
	x->carrier = c;
	ar_list_init(&x->settle);
}

static void leave(struct ar_exchange *x)
{
	ar_settle_drop(x);
	ar_arena_fini(&x->pool);
	if (!x->carrier->sse && !x->carrier->forward) /* a stream goes on without the exchange */
		ar_carrier_drop_admission(x->carrier);
	ar_buf_fini(&x->input);
	ar_buf_fini(&x->text);
}

void ar_exchange_fini(struct ar_exchange *x)
{
	leave(x);
	ar_call_fini(&x->call);
}

void ar_exchange_reset(struct ar_exchange *x)
{
	struct ar_call kept;

	leave(x);
	ar_call_reset(&x->call);
	kept = x->call;
	*x = (struct ar_exchange){ .call = kept };
}

void ar_exchange_answer(struct ar_exchange *x, int status, struct ar_str body)
{
	bool is_head = ar_str_is(x->request->method, "HEAD");

	x->reply.status = status;
	x->reply.body = is_head ? AR_STR("") : body;
	if (status == 503 || status == 429)
		ar_reply_add(&x->reply, "Retry-After",
			     x->retry_after[0] ? ar_str_from(x->retry_after) : AR_STR("1"));
	ar_trace_answer(x);
	x->carrier->v->reply(x->carrier);
}

void ar_exchange_refuse(struct ar_exchange *x, uint16_t code, const char *message, int status)
{
	int usual;

	ar_buf_clear(&x->text);
	usual = ar_control_error(code, message, &x->text);
	ar_exchange_answer(x, status ? status : usual, ar_buf_str(&x->text));
}

void ar_exchange_fault(struct ar_exchange *x, const struct ar_fault *f)
{
	uint16_t code = AR_ERR_INVALID_INPUT;

	for (size_t i = 0; i < AR_ARRAY_LEN(fault_codes); i++) {
		if (fault_codes[i].status == f->status)
			code = fault_codes[i].code;
	}
	x->carrier->server->counters.refused++;
	x->reply.is_close = true;
	ar_exchange_refuse(x, code, f->why, f->status);
}

bool ar_exchange_may_grow(struct ar_exchange *x, size_t bytes, size_t len)
{
	if (ar_server_has_room(x->carrier->server, bytes, len))
		return true;
	ar_exchange_fault(x, &(struct ar_fault){
				     503, "the server is short of memory and takes no large body now; repeat "
					  "after a moment" });
	return false;
}

static bool refuse_early(struct ar_exchange *x, uint16_t code, const char *why)
{
	x->carrier->server->counters.refused++;
	x->reply.is_close = true;
	ar_exchange_refuse(x, code, why, 0);
	return false;
}

/* Lets the page of an allowed origin read the answer. */
static void share(struct ar_exchange *x)
{
	struct ar_str origin = ar_names_shared_with(&x->carrier->server->names, x->request);

	if (ar_str_absent(origin))
		return;
	ar_reply_add(&x->reply, "Access-Control-Allow-Origin", origin);
	ar_reply_add(&x->reply, "Vary", AR_STR("Origin"));
}

/* A browser asks before it sends what a form cannot. */
static bool is_preflight(const struct ar_exchange *x)
{
	return ar_str_is(x->request->method, "OPTIONS") && !ar_str_absent(x->request->asked_method) &&
	       !ar_str_absent(ar_names_shared_with(&x->carrier->server->names, x->request));
}

static bool answer_preflight(struct ar_exchange *x)
{
	if (!is_preflight(x))
		return false;
	ar_reply_add(&x->reply, "Access-Control-Allow-Methods", AR_STR("GET, POST"));
	ar_reply_add(&x->reply, "Access-Control-Allow-Headers",
		     AR_STR("authorization, content-type, idempotency-key, last-event-id, x-request-id"));
	ar_reply_add(&x->reply, "Access-Control-Max-Age", AR_STR("600"));
	ar_exchange_answer(x, 200, AR_STR(""));
	return true;
}

/* A browser sends a page's requests as the person who sits before it: being on this machine, or a client certificate, says nothing about the
 * page. A bearer does, because the page itself has to know it. */
static bool check_page(struct ar_exchange *x)
{
	share(x);
	switch (ar_names_page(&x->carrier->server->names, x->carrier->source, x->request)) {
	case AR_PAGE_NONE:
	case AR_PAGE_LISTED:
		break;
	case AR_PAGE_LISTED_ELSEWHERE:
	case AR_PAGE_NEAR:
		if (is_preflight(x) || ar_request_has_bearer(x->request))
			break;
		ar_reply_add(&x->reply, "WWW-Authenticate", AR_STR("Bearer"));
		return refuse_early(
			x, AR_ERR_AUTH_FAILED,
			"a web page has to show a token: Authorization: Bearer art_...; `agentctl "
			"token create` makes one");
	case AR_PAGE_FOREIGN:
		return refuse_early(x, AR_ERR_NOT_AUTHORIZED,
				    "pages of this Origin may not ask; http.origins lists those that may");
	}
	return true;
}

/* The unix socket is out of a browser's reach. */
static bool check_source(struct ar_exchange *x)
{
	const struct ar_names *names = &x->carrier->server->names;
	const struct ar_source *from = x->carrier->source;
	const struct ar_request *h = x->request;
	struct ar_str authority = x->target.authority;

	if (!from->is_unix) {
		if (!ar_str_absent(h->host) && !ar_names_host(names, from, h->host))
			return refuse_early(
				x, AR_ERR_NOT_AUTHORIZED,
				"the Host header does not name this server; http.hosts lists its names");
		if (!ar_str_absent(authority) && !ar_names_host(names, from, authority))
			return refuse_early(
				x, AR_ERR_NOT_AUTHORIZED,
				"the target does not name this server; http.hosts lists its names");
	}
	return check_page(x);
}

/* Who is no node of the cluster learns nothing here, not even what exists. Under TLS the handshake has judged the certificate, and a key
 * does not help; without TLS there is only this machine, and the key. */
static bool check_peer(struct ar_exchange *x)
{
	struct ar_str scheme, key = ar_str_split(x->request->authorization, ' ', &scheme);
	const struct ar_source *from = x->carrier->source;

	if (x->carrier->server->tls.mutual && !ar_str_absent(from->certificate))
		return true;
	if (!x->carrier->server->tls.mutual && from->is_loopback && !ar_str_empty(key) &&
	    ar_is_word(scheme, "bearer") && ar_hash_is_same(key, ar_str_from(x->carrier->server->peers.key)))
		return true;
	return refuse_early(x, AR_ERR_AUTH_FAILED, "only nodes of this cluster are answered here");
}

/* A form, or a script without a preflight, cannot send this type. */
static bool check_content_type(struct ar_exchange *x)
{
	struct ar_str type;

	if (!ar_str_is(x->request->method, "POST"))
		return true;
	ar_str_split(x->request->content_type, ';', &type);
	if (ar_is_word(ar_str_trim(type, " \t"), "application/json"))
		return true;
	return refuse_early(x, AR_ERR_UNSUPPORTED_MEDIA_TYPE,
			    "a POST needs the header Content-Type: application/json");
}

bool ar_exchange_check(struct ar_exchange *x)
{
	if (x->carrier->source->is_peer && !check_peer(x))
		return false;
	if (!ar_target_parse(x->request->target, &x->target)) {
		ar_exchange_fault(x, &(struct ar_fault){
					     400, "the target is neither a path nor an http:// address" });
		return false;
	}
	return (x->carrier->source->is_peer || check_source(x)) && check_content_type(x);
}

#define LINES "application/x-ndjson"

static void answer_call(struct ar_exchange *x, struct ar_call *call)
{
	if (call->is_lines && call->http == 200) {
		x->reply.type = LINES;
		if (!ar_str_absent(call->next_cursor))
			ar_reply_add(&x->reply, "X-Next-Cursor", call->next_cursor);
	}
	ar_exchange_answer(x, call->http, ar_buf_str(&call->reply));
}

static void call_done(struct ar_call *call)
{
	struct ar_exchange *x = AR_CONTAINER_OF(call, struct ar_exchange, call);

	x->is_calling = false;
	if (x->carrier->is_closed)
		x->carrier->v->released(x->carrier);
	else if (call->place == AR_PLACE_PEER)
		ar_forward_open(x, call->peer);
	else if (call->place == AR_PLACE_UNSETTLED)
		ar_settle_wait(x);
	else
		answer_call(x, call);
}

static bool is_word_in(struct ar_str list, const char *word)
{
	struct ar_str item, name;

	while (list.len) {
		list = ar_str_split(list, ',', &item);
		while (item.len && item.p[0] == ' ')
			item = ar_str_sub(item, 1, item.len);
		ar_str_split(item, ';', &name);
		if (ar_is_word(name, word))
			return true;
	}
	return false;
}

/* JSON-RPC has no lines to answer with, and no head. */
static void set_lines(struct ar_exchange *x)
{
	x->call.takes_lines = !ar_str_absent(x->request->method);
	x->call.wants_lines = is_word_in(x->request->accept, LINES);
}

static void start_call(struct ar_exchange *x)
{
	ar_call_reset(&x->call);
	x->call.command = x->command->id;
	x->call.body = x->body;
	x->call.who = x->carrier->who;
	x->call.from = ar_request_origin(x);
	set_lines(x);
	x->call.is_from_peer = x->carrier->source->is_peer;
	x->call.done = call_done;
	x->is_calling = true;
	ar_control_call(x->carrier->server->control, &x->call);
}

void ar_exchange_record(struct ar_exchange *x, const char *act, ar_call_done_fn *done)
{
	ar_call_reset(&x->call);
	x->call.who = x->carrier->who;
	x->call.from = ar_request_origin(x);
	x->call.done = done;
	x->is_calling = true;
	ar_control_act(x->carrier->server->control, &x->call, act);
}

void ar_exchange_verify(struct ar_exchange *x)
{
	ar_call_reset(&x->call);
	x->call.body = x->content;
	x->call.who = x->carrier->who;
	x->call.from = ar_request_origin(x);
	x->call.done = call_done;
	x->is_calling = true;
	ar_control_verify(x->carrier->server->control, &x->call);
}

void ar_exchange_start(struct ar_exchange *x)
{
	if (x->command->id == AR_CMD_SUBSCRIBE_EVENTS)
		ar_sse_open(x);
	else
		start_call(x);
}

static bool is_stream(const struct ar_command_desc *command)
{
	return command->id == AR_CMD_SUBSCRIBE_EVENTS;
}

static enum ar_status make_input(struct ar_exchange *x, const struct ar_route *r, struct ar_str *ret,
				 struct ar_error *err)
{
	struct ar_str after = is_stream(r->command) ? x->request->last_event_id : AR_STR_NONE;
	struct ar_json_parser *parser = x->carrier->server->parser;
	bool has_key = !r->is_get && !ar_str_absent(x->request->idempotency_key) &&
		       ar_field_find(&r->command->in, AR_STR("idempotencyKey"));
	enum ar_status st = AR_OK;

	*ret = x->content;
	if (r->is_get)
		st = ar_input_from_target(r, x->target.query, after, &x->input, err);
	else if (!ar_str_absent(after))
		st = ar_input_with_after(parser, *ret, after, &x->input, err);
	else if (has_key)
		st = ar_input_with_key(parser, *ret, x->request->idempotency_key, &x->input, err);
	else
		return AR_OK;
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
	if (ar_request_acquire(x, is_stream(r->command) ? AR_AUTH_STREAM : AR_AUTH_COMMAND))
		ar_exchange_start(x);
}

static const struct ar_command_table commands = { ar_command_descs, AR_CMD_COUNT };

const struct ar_command_desc *ar_exchange_posted(const struct ar_request *request, struct ar_str path)
{
	struct ar_route route;
	enum ar_status st = ar_route_find(&commands, request->method, path, &route, NULL);

	return st == AR_OK && route.command && !is_stream(route.command) && !route.is_get ? route.command
											  : NULL;
}

/* Peers send commands and nothing else. */
static enum ar_status find_route(const struct ar_exchange *x, struct ar_route *ret, struct ar_error *err)
{
	enum ar_status st = ar_route_find(&commands, x->request->method, x->target.path, ret, err);

	if (st == AR_OK && x->carrier->source->is_peer && ret->command && ret->is_get) {
		ret->allow = "POST";
		return ar_refuse(err, AR_ERR_METHOD_NOT_ALLOWED, "nodes POST their commands to each other");
	}
	return st;
}

/* What is public may be asked by anybody who reaches it; everything else by those whom the door lets in. */
void ar_exchange_run(struct ar_exchange *x)
{
	x->arrived = uv_now(x->carrier->server->loop);
	x->began = x->carrier->server->ops.answered ? uv_hrtime() : 0;
	x->carrier->server->counters.requests++;
	if (answer_preflight(x))
		return;
	if (ar_route_is_public(x->target.path))
		ar_exchange_admitted(x);
	else
		ar_request_authenticate(x);
}

void ar_exchange_admitted(struct ar_exchange *x)
{
	struct ar_route route = { .command = x->known };
	struct ar_error err;

	if (x->known) {
		run_command(x, &route);
	} else if (find_route(x, &route, &err) != AR_OK) {
		if (route.allow)
			ar_reply_add(&x->reply, "Allow", ar_str_from(route.allow));
		ar_exchange_refuse(x, err.code, err.msg, 0);
	} else if (route.command) {
		run_command(x, &route);
	} else {
		ar_ops_answer(x, route.name);
	}
}
