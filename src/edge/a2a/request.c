/* See request.h. Pure but for libcurl's percent encoding. */
#include "request.h"
#include "v03.h"

#include <curl/curl.h>

#define PAGE_SIZE 50

bool ar_a2a_interface_is_old(const struct ar_a2a_interface *i)
{
	return ar_str_starts(i->version, AR_STR("0.3"));
}

static bool is_spoken(const struct ar_a2a_interface *i, bool is_old)
{
	if (is_old)
		return ar_a2a_interface_is_old(i) && ar_str_is(i->binding, "JSONRPC");
	return (ar_str_is(i->binding, "JSONRPC") || ar_str_is(i->binding, "HTTP+JSON")) &&
	       ar_str_starts(i->version, AR_STR("1."));
}

const struct ar_a2a_interface *ar_a2a_interface_choose(const struct ar_a2a_card *card)
{
	for (int is_old = 0; is_old < 2; is_old++) {
		for (size_t n = 0; n < card->interface_count; n++) {
			if (is_spoken(&card->interfaces[n], is_old))
				return &card->interfaces[n];
		}
	}
	return NULL;
}

struct ar_str ar_a2a_card_url(struct ar_str url, struct ar_arena *a)
{
	if (ar_str_ends(url, AR_STR(".json")))
		return ar_arena_str(a, url);
	while (ar_str_ends(url, AR_STR("/")))
		url = ar_str_sub(url, 0, url.len - 1);
	return ar_arena_fmt(a, "%.*s/.well-known/agent-card.json", AR_STR_ARG(url));
}

/* ---- bodies ---- */

static void write_push(struct ar_jw *w, const struct ar_peer_run *run)
{
	if (ar_str_absent(run->push_url))
		return;
	ar_jw_key(w, "taskPushNotificationConfig");
	ar_jw_open(w);
	ar_jw_mstr(w, "url", run->push_url);
	/* Some peers show the one, some the other. */
	ar_jw_mstr(w, "token", run->push_token);
	ar_jw_key(w, "authentication");
	ar_jw_open(w);
	ar_jw_mstr(w, "scheme", AR_STR("Bearer"));
	ar_jw_mstr(w, "credentials", run->push_token);
	ar_jw_close(w);
	ar_jw_close(w);
}

static void write_send(struct ar_jw *w, const struct ar_peer_run *run)
{
	ar_jw_key(w, "message");
	ar_jw_open(w);
	ar_jw_mstr(w, "messageId", run->message_id);
	ar_jw_mstr(w, "contextId", run->context_id);
	ar_jw_mstr(w, "taskId", run->task_id);
	ar_jw_mstr(w, "role", AR_STR("ROLE_USER"));
	ar_jw_key(w, "parts");
	ar_jw_open_array(w);
	ar_jw_open(w);
	ar_jw_mstr(w, "text", run->text);
	ar_jw_close(w);
	ar_jw_close_array(w);
	ar_jw_close(w);
	ar_jw_key(w, "configuration");
	ar_jw_open(w);
	ar_jw_mint(w, "historyLength", 0);
	ar_jw_mbool(w, "returnImmediately", true);
	write_push(w, run);
	ar_jw_close(w);
}

static void write_get(struct ar_jw *w, const struct ar_peer_run *run)
{
	ar_jw_mstr(w, "id", run->task_id);
	ar_jw_mint(w, "historyLength", 0);
}

static void write_list(struct ar_jw *w, const struct ar_peer_run *run)
{
	ar_jw_mstr(w, "contextId", run->context_id);
	ar_jw_mint(w, "pageSize", PAGE_SIZE);
	ar_jw_mstr(w, "pageToken", run->page);
	ar_jw_mint(w, "historyLength", 0);
}

static void write_id(struct ar_jw *w, const struct ar_peer_run *run)
{
	ar_jw_mstr(w, "id", run->task_id);
}

static const struct {
	const char *rpc;
	void (*write)(struct ar_jw *w, const struct ar_peer_run *run);
	const char *method; /* of HTTP+JSON */
	bool has_body;
} asks[] = {
	[AR_A2A_ASK_SEND] = { "SendMessage", write_send, NULL, true },
	[AR_A2A_ASK_GET] = { "GetTask", write_get, "GET", false },
	[AR_A2A_ASK_LIST] = { "ListTasks", write_list, "GET", false },
	[AR_A2A_ASK_SUBSCRIBE] = { "SubscribeToTask", write_id, NULL, false },
	[AR_A2A_ASK_CANCEL] = { "CancelTask", write_id, NULL, false },
};

static struct ar_str keep_text(struct ar_buf *text, struct ar_arena *a)
{
	struct ar_str kept = ar_arena_str(a, ar_buf_str(text));

	ar_buf_fini(text);
	return kept;
}

struct ar_str ar_a2a_method(enum ar_a2a_ask ask)
{
	return ar_str_from(asks[ask].rpc);
}

static void write_params(struct ar_buf *out, const struct ar_a2a_interface *i, enum ar_a2a_ask ask,
			 const struct ar_peer_run *run)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "tenant", i->tenant);
	asks[ask].write(&w, run);
	ar_jw_close(&w);
}

/* The same in the words of 0.3. */
static void make_params_old(struct ar_buf *params, struct ar_str method, struct ar_json_parser *parser)
{
	struct ar_buf old = { 0 };
	struct ar_json doc;

	if (ar_json_parse(parser, ar_buf_str(params), &doc, NULL) == AR_OK)
		ar_a2a_v03_params_back(method, doc, &old);
	ar_buf_fini(params);
	*params = old;
}

static bool write_rpc(struct ar_a2a_request *ret, const struct ar_a2a_interface *i,
		      const struct ar_peer_run *run, struct ar_json_parser *parser, struct ar_arena *a)
{
	struct ar_str method = ar_a2a_method(ret->ask);
	struct ar_buf text = { 0 }, params = { 0 };
	struct ar_jw w = ar_jw(&text);

	write_params(&params, i, ret->ask, run);
	if (ar_a2a_interface_is_old(i)) {
		make_params_old(&params, method, parser);
		method = ar_a2a_v03_method_back(method);
	}
	ret->url = ar_arena_str(a, i->url);
	ret->method = NULL;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "jsonrpc", AR_STR("2.0"));
	ar_jw_mint(&w, "id", ret->id);
	ar_jw_mstr(&w, "method", method);
	ar_jw_mraw(&w, "params", ar_buf_str(&params));
	ar_jw_close(&w);
	ret->body = keep_text(&text, a);
	ar_buf_fini(&params);
	return !ar_str_absent(method);
}

/* ---- HTTP+JSON ---- */

static void add_encoded(struct ar_buf *to, struct ar_str text)
{
	char *encoded = curl_easy_escape(NULL, text.p, (int)text.len);

	if (encoded)
		ar_buf_addz(to, encoded);
	curl_free(encoded);
}

static void add_path(struct ar_buf *url, enum ar_a2a_ask ask, const struct ar_peer_run *run)
{
	if (ask == AR_A2A_ASK_SEND) {
		ar_buf_addz(url, "/message:send");
		return;
	}
	ar_buf_addz(url, "/tasks");
	if (ask == AR_A2A_ASK_LIST) {
		ar_buf_addf(url, "?pageSize=%d&historyLength=0&contextId=", PAGE_SIZE);
		add_encoded(url, ar_str_absent(run->context_id) ? AR_STR("") : run->context_id);
		if (!ar_str_absent(run->page)) {
			ar_buf_addz(url, "&pageToken=");
			add_encoded(url, run->page);
		}
		return;
	}
	ar_buf_addc(url, '/');
	add_encoded(url, run->task_id);
	ar_buf_addz(url, ask == AR_A2A_ASK_CANCEL      ? ":cancel"
			 : ask == AR_A2A_ASK_SUBSCRIBE ? ":subscribe"
						       : "?historyLength=0");
}

static void write_http(struct ar_a2a_request *ret, const struct ar_a2a_interface *i,
		       const struct ar_peer_run *run, struct ar_arena *a)
{
	struct ar_buf text = { 0 }, url = { 0 };
	struct ar_str base = i->url;
	struct ar_jw w = ar_jw(&text);

	while (ar_str_ends(base, AR_STR("/")))
		base = ar_str_sub(base, 0, base.len - 1);
	ar_buf_adds(&url, base);
	if (!ar_str_absent(i->tenant)) {
		ar_buf_addc(&url, '/');
		add_encoded(&url, i->tenant);
	}
	add_path(&url, ret->ask, run);
	ret->url = keep_text(&url, a);
	ret->method = asks[ret->ask].method;
	ret->id = 0;
	ar_jw_open(&w);
	if (asks[ret->ask].has_body)
		asks[ret->ask].write(&w, run);
	ar_jw_close(&w);
	ret->body = ret->method ? AR_STR_NONE : keep_text(&text, a);
	ar_buf_fini(&text);
}

bool ar_a2a_request_write(struct ar_a2a_request *ret, const struct ar_a2a_interface *i,
			  const struct ar_peer_run *run, struct ar_json_parser *parser, struct ar_arena *a)
{
	if (ar_str_is(i->binding, "JSONRPC"))
		return write_rpc(ret, i, run, parser, a);
	write_http(ret, i, run, a);
	return true;
}
