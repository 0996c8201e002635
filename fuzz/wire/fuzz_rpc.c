/* What a peer of JSON-RPC writes, and what another node streams: lines to messages to requests, whose answers
 * are read again; and text of server-sent events. Whatever comes in, every answer is a response with the id
 * of its request. */
#include "control.h"
#include "portions.h"
#include "rpc/lines.h"
#include "rpc/rpc_message.h"
#include "rpc/sse_text.h"

#define CAP 4096

struct run {
	struct portions how;
	struct ar_lines lines;
	struct ar_json_parser *parser;
};

/* The core's wording is not what is tried here. */
int ar_control_error(uint16_t code, const char *message, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_key(&w, "error");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "code", ar_str_from(ar_error_descs[code].name));
	ar_jw_mstr(&w, "message", ar_str_from(message));
	ar_jw_close(&w);
	ar_jw_close(&w);
	return ar_error_descs[code].http;
}

static void check_response(struct run *r, const struct ar_buf *text, struct ar_str id, const char *member)
{
	struct ar_json doc;
	struct ar_buf its = { 0 };

	if (ar_json_parse(r->parser, ar_buf_str(text), &doc, NULL) != AR_OK || ar_json_len(doc) != 3 ||
	    ar_json_type(ar_json_get(doc, member)) != AR_JSON_OBJECT)
		abort();
	ar_json_print(ar_json_get(doc, "id"), &its);
	if (!ar_str_eq(ar_buf_str(&its), id))
		abort();
	ar_buf_fini(&its);
}

static void answer(struct run *r, const struct ar_rpc_request *request)
{
	struct ar_buf text = { 0 };

	if (!request->code && ar_str_absent(request->id))
		return;
	if (request->code)
		ar_rpc_write_error(&text, request->id, request->code, request->why);
	else
		ar_rpc_write_reply(r->parser, &text, request->id, 200, request->params);
	check_response(r, &text, request->id, request->code ? "error" : "result");
	portions_mix(&r->how, text.p, text.len);
	ar_buf_fini(&text);
}

static void on_line(struct ar_lines *l, struct ar_str line)
{
	struct run *r = AR_CONTAINER_OF(l, struct run, lines);
	struct ar_arena arena = { 0 };
	struct ar_rpc_message m;

	if (line.len > CAP)
		abort();
	ar_rpc_message_read(r->parser, line, &arena, &m);
	if (!m.count || m.count > AR_RPC_BATCH)
		abort();
	for (size_t i = 0; i < m.count; i++)
		answer(r, &m.requests[i]);
	ar_arena_fini(&arena);
	portions_maybe_pause(&r->how);
}

static void on_too_long(struct ar_lines *l)
{
	portions_mix(&AR_CONTAINER_OF(l, struct run, lines)->how, "!", 1);
}

static bool takes_more(struct ar_lines *l)
{
	return !AR_CONTAINER_OF(l, struct run, lines)->how.is_paused;
}

static const struct ar_lines_vtable callbacks = { on_line, on_too_long, takes_more };

static void on_event(void *arg, struct ar_str cursor, struct ar_str json)
{
	portions_mix_str(arg, cursor);
	portions_mix_str(arg, json);
}

static uint64_t read_all(struct portions how, struct ar_str bytes)
{
	static struct ar_json_parser *parser;
	struct run r = { .how = how };
	struct ar_sse_text sse = { 0 };
	struct ar_str left = bytes;

	parser = parser ? parser : ar_json_parser_new();
	r.parser = parser;
	r.lines = (struct ar_lines){ .v = &callbacks, .cap = CAP };
	while (left.len) {
		size_t used;

		r.how.is_paused = false;
		used = ar_lines_feed(&r.lines, ar_str_sub(left, 0, portions_next(&r.how, 1, left.len)));
		left = ar_str_sub(left, used, left.len);
	}
	ar_lines_finish(&r.lines);
	for (left = bytes; left.len;) {
		struct ar_str part = ar_str_sub(left, 0, portions_next(&r.how, 1, left.len));

		if (!ar_sse_text_feed(&sse, part, SIZE_MAX, on_event, &r.how))
			abort();
		left = ar_str_sub(left, part.len, left.len);
	}
	ar_sse_text_fini(&sse);
	ar_lines_fini(&r.lines);
	return r.how.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	return portions_compare(p, len, read_all);
}
