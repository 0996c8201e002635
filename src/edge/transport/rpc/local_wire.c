/* See local_wire.h. The peer of rpc.h writes whole messages; what they carry is cut out of them here.
 * Owner: the loop thread. */
#include "rpc/local_wire.h"
#include "json.h"
#include "link/peer_user.h"
#include "mem.h"
#include "rpc/rpc.h"
#include "server.h"

#include <string.h>

#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
#define EVENT \
	"{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"subscriptionId\":\"subscription_1\"," \
	"\"cursor\":\""
#define EVENT_BODY "\",\"event\":"

static const struct ar_source inside = { .uid = AR_NO_USER, .is_inside = true };

struct ar_local {
	struct ar_rpc rpc;
	const struct ar_local_vtable *v;
	void *arg;
	bool is_asking; /* inside ar_rpc_take: the memory stays until that has returned */
	bool is_closed;
};

static void release(struct ar_local *l)
{
	struct ar_http_server *s = l->rpc.server;

	if (!l->is_closed || l->is_asking || !ar_rpc_is_idle(&l->rpc))
		return;
	ar_free(l);
	s->handles--;
	ar_server_check_closed(s);
}

/* ---- messages ---- */

/* The text between a head and as many closing braces; absent when the head is another. */
static struct ar_str cut(struct ar_str text, struct ar_str head, size_t braces)
{
	return ar_str_starts(text, head) ? ar_str_sub(text, head.len, text.len - head.len - braces)
					 : AR_STR_NONE;
}

static void take_event(struct ar_local *l, struct ar_str rest)
{
	const char *quote = memchr(rest.p, '"', rest.len);
	size_t len = quote ? (size_t)(quote - rest.p) : 0;
	struct ar_str json = cut(ar_str_sub(rest, len, rest.len), AR_STR(EVENT_BODY), 0);

	AR_ASSERT(!ar_str_absent(json));
	l->v->event(l->arg, ar_str_sub(rest, 0, len), json);
}

static void write_error(struct ar_json error, struct ar_buf *out)
{
	ar_buf_addz(out, "{\"error\":");
	ar_json_print(error, out);
	ar_buf_addc(out, '}');
}

/* An error, or the end of a stream. */
static void take_other(struct ar_local *l, struct ar_str text)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc, error, end;
	struct ar_buf out = { 0 };

	AR_ASSERT(ar_json_parse(parser, text, &doc, NULL) == AR_OK);
	error = ar_json_get(ar_json_get(doc, "error"), "data");
	end = ar_json_get(ar_json_get(doc, "params"), "error");
	if (ar_json_type(error) != AR_JSON_NONE) {
		write_error(error, &out);
		l->v->failed(l->arg, ar_buf_str(&out));
	} else if (ar_json_type(end) != AR_JSON_NONE) {
		write_error(end, &out);
		l->v->ended(l->arg, ar_buf_str(&out));
	} else {
		l->v->ended(l->arg, AR_STR_NONE);
	}
	ar_buf_fini(&out);
	ar_json_parser_free(parser);
}

static void on_send(struct ar_rpc *r, struct ar_str text)
{
	struct ar_local *l = AR_CONTAINER_OF(r, struct ar_local, rpc);
	struct ar_str result = cut(text, AR_STR(RESULT), 1), event = cut(text, AR_STR(EVENT), 2);

	if (l->is_closed)
		return;
	if (!ar_str_absent(result))
		l->v->result(l->arg, result);
	else if (!ar_str_absent(event))
		take_event(l, event);
	else
		take_other(l, text);
}

static bool takes_more(struct ar_rpc *r)
{
	struct ar_local *l = AR_CONTAINER_OF(r, struct ar_local, rpc);

	return l->is_closed || l->v->takes_more(l->arg);
}

static void on_hurry(struct ar_rpc *r AR_UNUSED)
{
}

static void on_moved(struct ar_rpc *r)
{
	release(AR_CONTAINER_OF(r, struct ar_local, rpc));
}

/* ---- life ---- */

struct ar_local *ar_local_open(struct ar_http_server *s, const struct ar_local_vtable *v, void *arg,
			       const struct ar_principal *who)
{
	static const struct ar_rpc_vtable callbacks = { on_send, takes_more, on_hurry, on_moved };
	struct ar_local *l = ar_new0(sizeof *l);

	l->v = v;
	l->arg = arg;
	s->handles++;
	ar_rpc_init(&l->rpc, &callbacks, s, &inside, who);
	return l;
}

void ar_local_ask(struct ar_local *l, struct ar_str method, struct ar_str params)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "jsonrpc", AR_STR("2.0"));
	ar_jw_mint(&w, "id", 1);
	ar_jw_mstr(&w, "method", method);
	ar_jw_mraw(&w, "params", params);
	ar_jw_close(&w);
	l->is_asking = true;
	ar_rpc_take(&l->rpc, ar_buf_str(&text));
	l->is_asking = false;
	ar_buf_fini(&text);
	release(l);
}

void ar_local_drained(struct ar_local *l)
{
	ar_rpc_drained(&l->rpc);
}

void ar_local_close(struct ar_local *l)
{
	l->is_closed = true;
	l->is_asking = true; /* nothing that stops frees it under our hands */
	ar_rpc_stop(&l->rpc, false);
	l->is_asking = false;
	release(l);
}
