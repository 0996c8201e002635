/* See api.h. The only file that knows how errors of the API look. One thread. */
#include "api.h"
#include "clock.h"

#define LIST_PAGE 200 /* records */

#define CALL_MS 60000L

/* Ctrl-C is not for a request: it ends, and who waits for signals finds it still there. */
static bool stop_on_interrupt(void *arg AR_UNUSED)
{
	return false;
}

struct ar_http_request ar_api_request(struct ar_ctl *c, const char *path)
{
	return (struct ar_http_request){
		.url = ar_arena_fmt(&c->arena, "%s%s", c->url, path).p,
		.socket = c->socket,
		.is_local = true,
		.bearer = c->token,
		.cacert = c->cacert,
		.total_ms = CALL_MS,
		.signal_fd = c->signal_fd,
		.interrupted = stop_on_interrupt,
	};
}

static enum ar_status try_within(struct ar_ctl *c, const char *command, struct ar_str body, long ms,
				 struct ar_api_reply *ret, struct ar_error *err)
{
	struct ar_str path = ar_arena_fmt(&c->arena, "/v1/%s", command);
	struct ar_http_request r = ar_api_request(c, path.p);
	enum ar_status st;

	*ret = (struct ar_api_reply){ .parser = ar_json_parser_new() };
	r.body = body;
	r.total_ms = ms;
	st = ar_http_run(&r, &ret->http, err);
	if (st == AR_OK && ar_json_parse(ret->parser, ar_buf_str(&ret->http.body), &ret->doc, NULL) != AR_OK)
		return ar_fail(err, AR_E_CORRUPT, "the answer is not JSON; is this an agentd?");
	return st;
}

enum ar_status ar_api_try(struct ar_ctl *c, const char *command, struct ar_str body, struct ar_api_reply *ret,
			  struct ar_error *err)
{
	return try_within(c, command, body, CALL_MS, ret, err);
}

enum ar_exit ar_api_refused(struct ar_ctl *c, long status, struct ar_json doc)
{
	struct ar_json error = ar_json_get(doc, "error");
	struct ar_str message = ar_api_str(error, "message");
	struct ar_str next = ar_api_str(error, "next");

	if (ar_str_absent(message))
		return ar_ctl_complain(c, AR_EXIT_FAILED,
				       AR_STR("check that the address belongs to an agentd"),
				       "HTTP %ld without an explanation", status);
	return ar_ctl_complain(c, AR_EXIT_FAILED, next, "%.*s", AR_STR_ARG(message));
}

enum ar_exit ar_api_unreachable(struct ar_ctl *c, enum ar_status st, const struct ar_error *err)
{
	const char *where = c->socket ? c->socket : c->url;

	if (st == AR_E_UNAVAILABLE)
		return ar_ctl_complain(
			c, AR_EXIT_UNREACHABLE,
			c->socket ? AR_STR("start one with `agentd`; `agentctl run` starts one automatically")
				  : AR_STR("start agentd with --listen, or leave out --url"),
			"no daemon answers at %s", where);
	return ar_ctl_complain(c, AR_EXIT_UNREACHABLE, AR_STR("run `agentctl doctor` to find the cause"),
			       "the daemon at %s did not answer: %s", where, err->msg);
}

enum ar_exit ar_api_explain(struct ar_ctl *c, enum ar_status st, const struct ar_api_reply *r,
			    const struct ar_error *err)
{
	if (st == AR_E_CANCELED)
		return AR_EXIT_INTERRUPTED;
	if (st != AR_OK)
		return ar_api_unreachable(c, st, err);
	if (r->http.status >= 400)
		return ar_api_refused(c, r->http.status, r->doc);
	return AR_EXIT_OK;
}

enum ar_exit ar_api_call_within(struct ar_ctl *c, const char *command, struct ar_str body, long ms,
				struct ar_api_reply *ret)
{
	struct ar_error err = { 0 };
	enum ar_status st = try_within(c, command, body, ms, ret, &err);

	return ar_api_explain(c, st, ret, &err);
}

enum ar_exit ar_api_call(struct ar_ctl *c, const char *command, struct ar_str body, struct ar_api_reply *ret)
{
	return ar_api_call_within(c, command, body, CALL_MS, ret);
}

enum ar_exit ar_api_show(struct ar_ctl *c, const char *command, struct ar_buf *body, ar_api_print_fn *print)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(c, command, ar_ctl_take_buf(c, body), &reply);

	if (exit == AR_EXIT_OK)
		(c->is_json ? ar_api_print : print)(c, &reply);
	ar_api_fini(&reply);
	return exit;
}

enum ar_exit ar_api_list(struct ar_ctl *c, const char *command, bool is_all, ar_api_print_fn *print)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	if (is_all)
		ar_jw_mstr(&w, "status", AR_STR("all"));
	ar_jw_mint(&w, "limit", LIST_PAGE);
	ar_jw_close(&w);
	return ar_api_show(c, command, &body, print);
}

void ar_api_fini(struct ar_api_reply *r)
{
	ar_buf_fini(&r->http.body);
	if (r->parser)
		ar_json_parser_free(r->parser);
	*r = (struct ar_api_reply){ 0 };
}

void ar_api_print(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_buf text = { 0 };

	ar_json_print(r->doc, &text);
	ar_buf_addc(&text, '\n');
	ar_out_json(&c->out, ar_buf_str(&text));
	ar_buf_fini(&text);
}

struct ar_str ar_api_str(struct ar_json object, const char *name)
{
	struct ar_str s = AR_STR_NONE;

	ar_json_str(ar_json_get(object, name), &s);
	return s;
}

int64_t ar_api_int(struct ar_json object, const char *name)
{
	int64_t v = 0;

	ar_json_i64(ar_json_get(object, name), &v);
	return v;
}

ar_usec ar_api_time(struct ar_json object, const char *name)
{
	ar_usec t = 0;

	ar_time_parse(ar_api_str(object, name), &t);
	return t;
}

struct ar_json ar_api_path(struct ar_json object, const char *path)
{
	struct ar_str rest = ar_str_from(path), name;

	while (!ar_str_absent(rest)) {
		struct ar_buf one = { 0 };

		rest = ar_str_split(rest, '.', &name);
		ar_buf_adds(&one, name);
		ar_buf_addc(&one, '\0');
		object = ar_json_get(object, one.p);
		ar_buf_fini(&one);
	}
	return object;
}
