/* See rpc_message.h. Everything that is kept of a message is copied out of the parser, so that running
 * its first request may parse again before the last one is looked at. */
#include "rpc/rpc_message.h"
#include "control.h"
#include "describe.h"

#define HEAD "{\"jsonrpc\":\"2.0\","
#define ENVELOPE_BYTES 160 /* about what an event needs beside itself */

/* ---- reading ---- */

static struct ar_str print_value(struct ar_arena *a, struct ar_json v)
{
	struct ar_buf text = { 0 };
	struct ar_str copy;

	ar_json_print(v, &text);
	copy = ar_arena_str(a, ar_buf_str(&text));
	ar_buf_fini(&text);
	return copy;
}

static void refuse(struct ar_rpc_request *r, uint16_t code, const char *why)
{
	r->code = code;
	r->why = why;
	if (ar_str_absent(r->id))
		r->id = AR_STR("null"); /* what cannot be read is answered nevertheless */
}

static bool read_id(struct ar_json v, struct ar_arena *a, struct ar_rpc_request *ret)
{
	enum ar_json_type type = ar_json_type(v);
	struct ar_str id;

	if (type == AR_JSON_NONE)
		return true;
	if (type != AR_JSON_STR && type != AR_JSON_INT && type != AR_JSON_NUM && type != AR_JSON_NULL)
		return false;
	id = print_value(a, v);
	if (id.len > AR_RPC_ID_BYTES)
		return false;
	ret->id = id;
	return true;
}

static bool read_params(struct ar_json v, struct ar_arena *a, struct ar_rpc_request *ret)
{
	enum ar_json_type type = ar_json_type(v);

	ret->params = AR_STR("{}");
	if (type == AR_JSON_NONE)
		return true;
	if (type != AR_JSON_OBJECT)
		return false;
	ret->params = print_value(a, v);
	return true;
}

static void read_request(struct ar_json v, struct ar_arena *a, struct ar_rpc_request *ret)
{
	struct ar_str version = AR_STR_NONE, method = AR_STR_NONE;

	if (ar_json_type(v) != AR_JSON_OBJECT) {
		refuse(ret, AR_ERR_INVALID_REQUEST, "a request is a JSON object");
		return;
	}
	if (!read_id(ar_json_get(v, "id"), a, ret)) {
		refuse(ret, AR_ERR_INVALID_REQUEST, "an id is a string of at most 254 bytes or a number");
		return;
	}
	ar_json_str(ar_json_get(v, "jsonrpc"), &version);
	ar_json_str(ar_json_get(v, "method"), &method);
	if (!ar_str_is(version, "2.0"))
		refuse(ret, AR_ERR_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
	else if (ar_str_absent(method))
		refuse(ret, AR_ERR_INVALID_REQUEST, "method must be a string");
	else if (!read_params(ar_json_get(v, "params"), a, ret))
		refuse(ret, AR_ERR_INVALID_INPUT,
		       "params must be an object: inputs are given by name, not by position");
	ret->method = ar_arena_str(a, method);
}

static void read_batch(struct ar_json array, struct ar_arena *a, struct ar_rpc_message *ret)
{
	size_t at = 0;

	ret->count = ar_json_len(array);
	ret->is_batch = true;
	ret->requests = ar_arena_alloc(a, ret->count * sizeof *ret->requests);
	for (struct ar_json_iter it = ar_json_iter(array); ar_json_next(&it);)
		read_request(it.value, a, &ret->requests[at++]);
}

void ar_rpc_message_read(struct ar_json_parser *parser, struct ar_str text, struct ar_arena *a,
			 struct ar_rpc_message *ret)
{
	struct ar_error err = { 0 };
	struct ar_json doc;

	*ret = (struct ar_rpc_message){ .count = 1 };
	if (ar_json_parse(parser, text, &doc, &err) == AR_OK && ar_json_type(doc) == AR_JSON_ARRAY &&
	    ar_json_len(doc) >= 1 && ar_json_len(doc) <= AR_RPC_BATCH) {
		read_batch(doc, a, ret);
		return;
	}
	ret->requests = ar_arena_alloc(a, sizeof *ret->requests);
	if (err.status != AR_OK)
		refuse(ret->requests, AR_ERR_INVALID_JSON, ar_arena_str(a, ar_str_from(err.msg)).p);
	else if (ar_json_type(doc) == AR_JSON_ARRAY)
		refuse(ret->requests, AR_ERR_INVALID_REQUEST, "a batch has 1 to 64 requests");
	else
		read_request(doc, a, ret->requests);
}

/* ---- writing ---- */

void ar_rpc_write_result(struct ar_buf *out, struct ar_str id, struct ar_str json)
{
	ar_buf_addz(out, HEAD "\"id\":");
	ar_buf_adds(out, id);
	ar_buf_addz(out, ",\"result\":");
	ar_buf_adds(out, json);
	ar_buf_addc(out, '}');
}

void ar_rpc_write_error_object(struct ar_buf *out, uint16_t code, const char *message)
{
	static const char before[] = "{\"error\":";
	struct ar_buf whole = { 0 };

	ar_control_error(code, message, &whole);
	ar_buf_add(out, whole.p + sizeof before - 1, whole.len - sizeof before);
	ar_buf_fini(&whole);
}

/* What follows is the data and two closing braces. */
static void begin_error(struct ar_buf *out, struct ar_str id, uint16_t code, struct ar_str message)
{
	struct ar_jw w = ar_jw(out);

	ar_buf_addz(out, HEAD "\"id\":");
	ar_buf_adds(out, id);
	ar_buf_addz(out, ",\"error\":");
	ar_jw_open(&w);
	ar_jw_mint(&w, "code", ar_error_describe(code)->rpc);
	ar_jw_mstr(&w, "message", message);
	ar_jw_key(&w, "data");
}

void ar_rpc_write_error(struct ar_buf *out, struct ar_str id, uint16_t code, const char *message)
{
	begin_error(out, id, code, ar_str_from(message));
	ar_rpc_write_error_object(out, code, message);
	ar_buf_addz(out, "}}");
}

void ar_rpc_write_reply(struct ar_json_parser *parser, struct ar_buf *out, struct ar_str id, int http,
			struct ar_str body)
{
	struct ar_str name = AR_STR_NONE, message = AR_STR("");
	struct ar_json doc, error;
	enum ar_error_code code;

	if (http < 300) {
		ar_rpc_write_result(out, id, body);
		return;
	}
	if (ar_json_parse(parser, body, &doc, NULL) != AR_OK)
		doc = (struct ar_json){ 0 };
	error = ar_json_get(doc, "error");
	ar_json_str(ar_json_get(error, "code"), &name);
	ar_json_str(ar_json_get(error, "message"), &message);
	code = ar_error_find(name);
	/* A code that only a newer node knows is an error all the same. */
	begin_error(out, id, code ? (uint16_t)code : AR_ERR_INTERNAL, message);
	ar_json_print(error, out);
	ar_buf_addz(out, "}}");
}

static struct ar_jw begin_notification(struct ar_buf *out, const char *method, struct ar_str subscription,
				       struct ar_str cursor)
{
	struct ar_jw w = ar_jw(out);

	ar_buf_addz(out, HEAD "\"method\":\"");
	ar_buf_addz(out, method);
	ar_buf_addz(out, "\",\"params\":");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "subscriptionId", subscription);
	ar_jw_mstr(&w, "cursor", cursor);
	return w;
}

void ar_rpc_write_event(struct ar_buf *out, struct ar_str subscription, struct ar_str cursor,
			struct ar_str event)
{
	struct ar_jw w;

	ar_buf_room(out, ENVELOPE_BYTES + cursor.len + event.len); /* at once, not step by step */
	w = begin_notification(out, "event", subscription, cursor);
	ar_jw_mraw(&w, "event", event);
	ar_buf_addz(out, "}}");
}

void ar_rpc_write_ended(struct ar_buf *out, struct ar_str subscription, struct ar_str cursor,
			struct ar_str error)
{
	struct ar_jw w = begin_notification(out, "subscription.ended", subscription, cursor);

	ar_jw_mraw(&w, "error", error);
	ar_buf_addz(out, "}}");
}
