/* One request from its head to its reply. The head is checked and its route found
 * (request_check.c), the caller authenticated, the body read by the carrier, then: look at what
 * the route asks for, take a slot of the caller's limits, call the core, answer. What is public
 * needs no caller; what does not exist is said only to those who are authenticated. Owner: the
 * loop thread. */
#include "credentials.h"
#include "describe.h"
#include "input.h"
#include "peer/forward.h"
#include "request.h"
#include "server.h"
#include "sse.h"
#include "trace.h"

#include <stdio.h>

/* Which error of the catalogue a broken request is; any other status is invalid_input. */
static const struct {
	int status;
	uint16_t code;
} fault_codes[] = {
	{ 408, AR_ERR_TIMEOUT },     { 413, AR_ERR_PAYLOAD_TOO_LARGE }, { 431, AR_ERR_HEADER_TOO_LARGE },
	{ 501, AR_ERR_UNAVAILABLE }, { 503, AR_ERR_OVERLOADED },	{ 505, AR_ERR_UNAVAILABLE },
};

void ar_http_request_init(struct ar_http_request *req, struct ar_carrier *c)
{
	req->carrier = c;
	ar_list_init(&req->settle);
}

static void clear_request(struct ar_http_request *req)
{
	ar_settle_drop(req);
	/* a stream goes on without the request */
	if (!req->carrier->sse && !req->carrier->forward && !req->carrier->a2a)
		ar_carrier_drop_admission(req->carrier);
	ar_buf_fini(&req->input);
	ar_buf_fini(&req->text);
}

void ar_http_request_fini(struct ar_http_request *req)
{
	clear_request(req);
	ar_arena_fini(&req->pool);
	ar_call_fini(&req->call);
}

void ar_http_request_reset(struct ar_http_request *req)
{
	struct ar_arena pool;
	struct ar_call call;

	clear_request(req);
	ar_call_reset(&req->call);
	ar_arena_reset(&req->pool);
	call = req->call;
	pool = req->pool;
	*req = (struct ar_http_request){ .call = call, .pool = pool };
}

void ar_http_request_answer(struct ar_http_request *req, int status, struct ar_str body)
{
	bool is_head = ar_str_is(req->head->method, "HEAD");

	req->reply.status = status;
	req->reply.body = is_head ? AR_STR("") : body;
	if (status == 503 || status == 429)
		ar_reply_add(&req->reply, "Retry-After",
			     req->retry_after[0] ? ar_str_from(req->retry_after) : AR_STR("1"));
	ar_trace_answer(req);
	req->carrier->v->reply(req->carrier);
}

void ar_http_request_refuse(struct ar_http_request *req, uint16_t code, const char *message, int status)
{
	int usual;

	ar_buf_clear(&req->text);
	usual = ar_control_error(code, message, &req->text);
	ar_http_request_answer(req, status ? status : usual, ar_buf_str(&req->text));
}

void ar_http_request_fault(struct ar_http_request *req, const struct ar_fault *f)
{
	uint16_t code = AR_ERR_INVALID_INPUT;

	for (size_t i = 0; i < AR_ARRAY_LEN(fault_codes); i++) {
		if (fault_codes[i].status == f->status)
			code = fault_codes[i].code;
	}
	req->carrier->server->counters.refused++;
	req->reply.is_close = true;
	ar_http_request_refuse(req, code, f->why, f->status);
}

bool ar_http_request_may_grow(struct ar_http_request *req, size_t bytes, size_t len)
{
	if (ar_server_has_room(req->carrier->server, bytes, len))
		return true;
	ar_http_request_fault(
		req,
		&(struct ar_fault){
			503,
			"the server is short of memory and accepts no large body now; repeat in a moment" });
	return false;
}

/* ---- the call ---- */

#define LINES "application/x-ndjson"

static void answer_call(struct ar_http_request *req, struct ar_call *call)
{
	if (call->is_lines && call->http == 200) {
		req->reply.type = LINES;
		if (!ar_str_absent(call->next_cursor))
			ar_reply_add(&req->reply, "X-Next-Cursor", call->next_cursor);
	}
	ar_http_request_answer(req, call->http, ar_call_reply(call));
}

static void call_done(struct ar_call *call)
{
	struct ar_http_request *req = AR_CONTAINER_OF(call, struct ar_http_request, call);

	req->is_calling = false;
	if (req->carrier->is_closed)
		req->carrier->v->released(req->carrier);
	else if (call->place == AR_PLACE_PEER)
		ar_forward_open(req, call->peer);
	else if (call->place == AR_PLACE_UNSETTLED)
		ar_settle_wait(req);
	else
		answer_call(req, call);
}

/* JSON-RPC has no lines to answer with, and no head. */
static void set_lines(struct ar_http_request *req)
{
	req->call.takes_lines = !ar_str_absent(req->head->method);
	req->call.wants_lines = ar_header_has_word(req->head->accept, LINES);
}

/* Every call of the core begins alike. */
static struct ar_call *prepare_call(struct ar_http_request *req, ar_call_done_fn *done)
{
	struct ar_call *call = &req->call;

	ar_call_reset(call);
	call->who = req->carrier->who;
	call->from = ar_http_request_origin(req);
	call->done = done;
	req->is_calling = true;
	return call;
}

#define LARGE_BODY (1 << 20)

/* A list of a million items is decoded, and split, and stored: its text need not be there as well. */
static void forget_body(struct ar_call *call)
{
	struct ar_http_request *req = AR_CONTAINER_OF(call, struct ar_http_request, call);

	if (call->body.len < LARGE_BODY)
		return;
	call->body = req->body = req->content = AR_STR_NONE;
	ar_buf_fini(&req->input);
	if (req->content_buf)
		ar_buf_fini(req->content_buf);
}

static void start_call(struct ar_http_request *req)
{
	struct ar_call *call = prepare_call(req, call_done);

	call->command = req->route.command->id;
	call->body = req->body;
	call->forget_body = forget_body;
	call->is_from_peer = req->carrier->source->is_peer;
	set_lines(req);
	ar_control_call(req->carrier->server->control, call);
}

void ar_http_request_record(struct ar_http_request *req, const char *act, ar_call_done_fn *done)
{
	ar_control_act(req->carrier->server->control, prepare_call(req, done), act);
}

void ar_http_request_verify(struct ar_http_request *req)
{
	struct ar_call *call = prepare_call(req, call_done);

	call->body = req->content;
	ar_control_verify(req->carrier->server->control, call);
}

static bool is_stream(const struct ar_http_request *req)
{
	return req->route.command->id == AR_CMD_SUBSCRIBE_EVENTS;
}

void ar_http_request_start(struct ar_http_request *req)
{
	if (is_stream(req))
		ar_sse_open(req);
	else
		start_call(req);
}

/* The input of the command, from the body, or from path, query and headers. */
static enum ar_status make_input(struct ar_http_request *req, struct ar_error *err)
{
	const struct ar_http_route *r = &req->route;
	struct ar_str after = is_stream(req) ? req->head->last_event_id : AR_STR_NONE;
	struct ar_json_parser *parser = req->carrier->server->parser;
	bool has_key = !r->is_get && !ar_str_absent(req->head->idempotency_key) &&
		       ar_field_find(&r->command->in, AR_STR("idempotencyKey"));
	enum ar_status st = AR_OK;

	req->body = req->content;
	if (r->is_get)
		st = ar_input_from_target(r, req->target.query, after, &req->input, err);
	else if (!ar_str_absent(after))
		st = ar_input_with_after(parser, req->content, after, &req->input, err);
	else if (has_key)
		st = ar_input_with_key(parser, req->content, req->head->idempotency_key, &req->input, err);
	else
		return AR_OK;
	req->body = ar_buf_str(&req->input);
	return st;
}

/* ---- limits of the caller ---- */

static void refuse_for_now(struct ar_http_request *req, const struct ar_error *err, uint32_t retry_ms)
{
	int status;

	snprintf(req->retry_after, sizeof(req->retry_after), "%u", (retry_ms + 999) / 1000);
	req->carrier->server->counters.refused++;
	ar_buf_clear(&req->text);
	status = ar_control_error_later(err->code, err->msg, retry_ms, &req->text);
	ar_http_request_answer(req, status, ar_buf_str(&req->text));
}

static void on_credentials_ended(struct ar_http_admission *a)
{
	struct ar_error err = { 0 };

	ar_refuse(&err, AR_ERR_AUTH_FAILED,
		  "the token has expired or was revoked; connect again with another");
	ar_carrier_expire(a->owner, &err);
}

/* What another node passed on was counted and is watched there. */
static bool acquire_slot(struct ar_http_request *req)
{
	struct ar_http_admission *a = req->carrier->admission;
	enum ar_auth_slot slot = is_stream(req) ? AR_AUTH_STREAM : AR_AUTH_COMMAND;
	struct ar_error err = { 0 };
	uint32_t retry_ms = 0;

	if (req->carrier->source->is_peer)
		return true;
	if (ar_http_admission_acquire(a, slot, &retry_ms, &err) != AR_OK) {
		refuse_for_now(req, &err, retry_ms);
		return false;
	}
	if (slot == AR_AUTH_STREAM)
		ar_http_admission_watch(a, on_credentials_ended, req->carrier);
	return true;
}

void ar_http_request_begin(struct ar_http_request *req)
{
	if (acquire_slot(req))
		ar_http_request_start(req);
}

/* ---- from the head to the call: authenticate, then, with the body, what the route says ---- */

static void run_command(struct ar_http_request *req)
{
	struct ar_error err = { 0 };

	if (make_input(req, &err) == AR_OK)
		ar_http_request_begin(req);
	else
		ar_http_request_refuse(req, err.code, err.msg, 0);
}

static void refuse_route(struct ar_http_request *req)
{
	struct ar_error err = { 0 };

	ar_http_route_explain(&req->route, req->target.path, &err);
	if (req->route.allow)
		ar_reply_add(&req->reply, "Allow", ar_str_from(req->route.allow));
	ar_http_request_refuse(req, err.code, err.msg, 0);
}

static void run_route(struct ar_http_request *req)
{
	if (req->route.code)
		refuse_route(req);
	else if (req->route.command)
		run_command(req);
	else
		ar_ops_answer(req);
}

static void admit_caller(struct ar_http_request *req, const struct ar_principal *who)
{
	req->is_authenticated = true;
	ar_carrier_admit(req->carrier, who);
	if (req->is_whole)
		run_route(req);
	else if (!req->is_admitting)
		req->carrier->v->admitted(req->carrier);
}

static void refuse_credentials(struct ar_http_request *req, const struct ar_error *err)
{
	req->carrier->server->counters.refused++;
	if (!req->is_whole) {
		req->carrier->server->counters.requests++; /* no more of it will come */
		req->reply.is_close = true;
	}
	if (err->code == AR_ERR_AUTH_FAILED)
		ar_reply_add(&req->reply, "WWW-Authenticate", AR_STR("Bearer"));
	ar_http_request_refuse(req, err->code, err->msg, 0);
}

static void on_authenticated(struct ar_auth_request *auth)
{
	struct ar_http_request *req = AR_CONTAINER_OF(auth, struct ar_http_request, auth);

	req->is_calling = false;
	if (req->carrier->is_closed)
		req->carrier->v->released(req->carrier);
	else if (auth->status == AR_OK)
		admit_caller(req, &auth->who);
	else
		refuse_credentials(req, &auth->err);
}

/* It is a node of the cluster: what it says of who asked it is believed, but it has to say
 * it. A connection that began with certificates which were replaced since then carries
 * this request and no other. */
static void admit_peer(struct ar_http_request *req)
{
	const struct ar_byte_link *link = AR_CONTAINER_OF(req->carrier->source, struct ar_byte_link, source);
	struct ar_error err = { 0 };
	struct ar_principal who;

	if (!ar_byte_link_is_current(link))
		req->reply.is_close = true;
	if (ar_http_request_read_principal(req, &who)) {
		admit_caller(req, &who);
		return;
	}
	ar_refuse(&err, AR_ERR_AUTH_FAILED, "the request of the node names no caller");
	refuse_credentials(req, &err);
}

static void authenticate(struct ar_http_request *req)
{
	struct ar_auth *auth = req->carrier->server->auth;

	if (req->carrier->source->is_peer) {
		admit_peer(req);
	} else if (!auth) {
		admit_caller(req, NULL);
	} else {
		req->auth.credentials = ar_http_request_credentials(req);
		req->auth.arena = &req->pool;
		req->auth.done = on_authenticated;
		req->is_calling = true;
		auth->v->authenticate(auth, &req->auth);
	}
}

static void note_arrival(struct ar_http_request *req)
{
	struct ar_http_server *s = req->carrier->server;

	req->arrived = uv_now(s->loop);
	req->began = s->ops.answered ? uv_hrtime() : 0;
}

bool ar_http_request_admit(struct ar_http_request *req)
{
	const struct ar_carrier *c = req->carrier;

	if (req->route.access == AR_ACCESS_PUBLIC || ar_http_request_is_preflight(req))
		return true;
	note_arrival(req);
	req->is_admitting = true;
	authenticate(req);
	if (c->request != req)
		return false; /* answered, and gone */
	req->is_admitting = false;
	return req->is_authenticated;
}

void ar_http_request_run(struct ar_http_request *req)
{
	note_arrival(req);
	req->carrier->server->counters.requests++;
	req->is_whole = true;
	if (ar_http_request_is_preflight(req))
		ar_http_request_answer_preflight(req);
	else if (req->route.access == AR_ACCESS_PUBLIC || req->is_authenticated)
		run_route(req);
	else if (!req->is_calling)
		authenticate(req);
}
