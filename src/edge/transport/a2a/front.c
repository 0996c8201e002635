/* From a request to an operation: which binding, which agent, what is asked. JSON-RPC names the operation in
 * the body, HTTP+JSON in the path; behind that both are the same. Owner: the loop thread. */
#include "a2a/a2a.h"
#include "a2a/exchange.h"
#include "hash.h"
#include "mem.h"
#include "published.h"
#include "rpc/rpc_message.h"
#include "server.h"

#include <string.h>

#define ROOT "/a2a/"
#define CHANNEL_DIGITS 24
#define WAIT_MS (240 * 1000) /* of a request that waits for its task */

bool ar_a2a_is_path(struct ar_str path)
{
	return ar_str_starts(path, AR_STR(ROOT));
}

static const struct {
	const char *method;
	enum ar_a2a_op op;
} methods[] = {
	{ "SendMessage", AR_A2A_OP_SEND },
	{ "SendStreamingMessage", AR_A2A_OP_STREAM },
	{ "GetTask", AR_A2A_OP_GET },
	{ "ListTasks", AR_A2A_OP_LIST },
	{ "CancelTask", AR_A2A_OP_CANCEL },
	{ "SubscribeToTask", AR_A2A_OP_SUBSCRIBE },
	{ "GetExtendedAgentCard", AR_A2A_OP_EXTENDED_CARD },
	{ "CreateTaskPushNotificationConfig", AR_A2A_OP_PUSH_SET },
	{ "GetTaskPushNotificationConfig", AR_A2A_OP_PUSH_GET },
	{ "ListTaskPushNotificationConfigs", AR_A2A_OP_PUSH_LIST },
	{ "DeleteTaskPushNotificationConfig", AR_A2A_OP_PUSH_DELETE },
};

/* ---- operations ---- */

static void loaded_to_get(struct ar_a2a_exchange *x, bool is_good AR_UNUSED, struct ar_json json AR_UNUSED)
{
	if (ar_a2a_is_own(x))
		ar_a2a_answer_task(x);
	else
		ar_a2a_refuse_with(x, AR_A2A_TASK_NOT_FOUND, "there is no such task");
}

static void loaded_to_follow(struct ar_a2a_exchange *x, bool is_good AR_UNUSED, struct ar_json json AR_UNUSED)
{
	if (!ar_a2a_is_own(x))
		ar_a2a_refuse_with(x, AR_A2A_TASK_NOT_FOUND, "there is no such task");
	else if (ar_a2a_is_terminal(x->task.state))
		ar_a2a_refuse_with(x, AR_A2A_UNSUPPORTED_OPERATION, "the task has ended; GetTask shows it");
	else
		ar_a2a_follow(x);
}

static void answer_card(struct ar_a2a_exchange *x)
{
	const struct ar_a2a_published *p = x->published;
	const struct ar_principal *who = x->carrier->who;
	struct ar_a2a_card card = { 0 };

	p->card(p->arg,
		&(struct ar_a2a_card_ask){ .agent = x->agent,
					   .is_pure = ar_str_absent(x->old),
					   .tenant = who ? who->tenant : AR_STR(AR_TENANT_LOCAL) },
		&x->arena, &card);
	ar_a2a_answer(x, card.body);
}

static void run(struct ar_a2a_exchange *x)
{
	switch (x->op) {
	case AR_A2A_OP_SEND:
	case AR_A2A_OP_STREAM:
		ar_a2a_send(x);
		return;
	case AR_A2A_OP_GET:
		ar_a2a_load(x, loaded_to_get);
		return;
	case AR_A2A_OP_SUBSCRIBE:
		ar_a2a_load(x, loaded_to_follow);
		return;
	case AR_A2A_OP_CANCEL:
		ar_a2a_cancel(x);
		return;
	case AR_A2A_OP_LIST:
		ar_a2a_list_tasks(x);
		return;
	case AR_A2A_OP_EXTENDED_CARD:
		answer_card(x);
		return;
	case AR_A2A_OP_PUSH_SET:
	case AR_A2A_OP_PUSH_GET:
	case AR_A2A_OP_PUSH_LIST:
	case AR_A2A_OP_PUSH_DELETE:
		ar_a2a_push(x);
		return;
	case AR_A2A_OP_NONE:
		ar_a2a_refuse_with(x, AR_A2A_METHOD_NOT_FOUND, "there is no such operation");
		return;
	}
}

/* ---- what is asked ---- */

/* The interfaces of the card have no tenant: a caller's tenant is that of its token. */
static bool check_tenant(const struct ar_a2a_exchange *x, struct ar_str tenant, struct ar_a2a_failure *f)
{
	const struct ar_principal *who = x->carrier->who;

	if (ar_str_empty(tenant) || ar_str_eq(tenant, who ? who->tenant : AR_STR(AR_TENANT_LOCAL)))
		return true;
	return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "tenant", "the tenant is not that of the caller");
}

static bool read_params(struct ar_a2a_exchange *x, struct ar_json params, struct ar_a2a_failure *f)
{
	struct ar_str tenant;

	x->history = -1;
	if (!ar_a2a_text(params, "tenant", &x->arena, &tenant, f) || !check_tenant(x, tenant, f))
		return false;
	switch (x->op) {
	case AR_A2A_OP_SEND:
	case AR_A2A_OP_STREAM:
		if (!ar_a2a_read_send(params, &x->arena, &x->send, f))
			return false;
		x->history = x->send.history;
		x->task.id = x->send.task;
		return true;
	case AR_A2A_OP_GET:
	case AR_A2A_OP_CANCEL:
	case AR_A2A_OP_SUBSCRIBE:
		if (!ar_a2a_text(params, "id", &x->arena, &x->task.id, f) ||
		    !ar_a2a_history(params, &x->history, f))
			return false;
		if (ar_str_absent(x->task.id))
			return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "id", "id has to name a task");
		return true;
	case AR_A2A_OP_LIST:
		return ar_a2a_read_list_request(x, params, f);
	case AR_A2A_OP_PUSH_SET:
	case AR_A2A_OP_PUSH_GET:
	case AR_A2A_OP_PUSH_LIST:
	case AR_A2A_OP_PUSH_DELETE:
		/* one that is not offered is refused as that, whatever is asked of it */
		return !x->published->pushes || ar_a2a_read_push_request(x, params, f);
	default:
		return true;
	}
}

/* JSON-RPC: one request, no batch. */
static bool read_rpc(struct ar_a2a_exchange *x, struct ar_str body, struct ar_a2a_failure *f)
{
	struct ar_str version = AR_STR_NONE, method = AR_STR_NONE;
	struct ar_json doc, id, params;
	struct ar_buf text = { 0 };

	if (ar_json_parse(x->server->parser, body, &doc, NULL) != AR_OK)
		return ar_a2a_fail(f, AR_A2A_PARSE, NULL, "the body is no JSON");
	id = ar_json_get(doc, "id");
	if (ar_json_type(id) == AR_JSON_STR || ar_json_type(id) == AR_JSON_INT) {
		ar_json_print(id, &text);
		if (text.len <= AR_RPC_ID_BYTES)
			x->id = ar_arena_str(&x->arena, ar_buf_str(&text));
		ar_buf_fini(&text);
	}
	ar_json_str(ar_json_get(doc, "jsonrpc"), &version);
	if (!ar_str_is(version, "2.0") || !ar_json_str(ar_json_get(doc, "method"), &method) ||
	    ar_str_absent(x->id))
		return ar_a2a_fail(f, AR_A2A_INVALID_REQUEST, NULL,
				   "a request has jsonrpc 2.0, an id and a method");
	params = ar_json_get(doc, "params");
	if (ar_json_type(params) != AR_JSON_NONE && ar_json_type(params) != AR_JSON_OBJECT)
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "params", "params has to be an object");
	if (!x->agent->speaks_v03 && !ar_str_absent(ar_a2a_v03_method(method)))
		return ar_a2a_fail(f, AR_A2A_VERSION, NULL, "A2A 0.3 is not served here; 1.0 is");
	if (!ar_a2a_read_old(x, &method, &params))
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "params", "params cannot be read");
	for (size_t i = 0; i < AR_ARRAY_LEN(methods); i++) {
		if (ar_str_is(method, methods[i].method))
			x->op = methods[i].op;
	}
	if (!x->op)
		return ar_a2a_fail(f, AR_A2A_METHOD_NOT_FOUND, NULL, "there is no method '%.*s'",
				   AR_STR_ARG(ar_str_utf8_prefix(method, 80)));
	return read_params(x, params, f);
}

/* ---- HTTP+JSON ---- */

/* %41 becomes A; what is no escape stays. */
static void add_decoded(struct ar_buf *out, struct ar_str s)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";

	for (size_t i = 0; i < s.len; i++) {
		const char *high = i + 2 < s.len && s.p[i] == '%' ? strchr(digits, s.p[i + 1]) : NULL;
		const char *low = high ? strchr(digits, s.p[i + 2]) : NULL;

		if (s.p[i] == '%' && high && low && *high && *low) {
			ar_buf_addc(out, (char)((high - digits) % 16 * 16 + (low - digits) % 16));
			i += 2;
		} else {
			ar_buf_addc(out, s.p[i]);
		}
	}
}

static bool is_number(struct ar_str s)
{
	int64_t n;

	return ar_str_to_i64(s, &n);
}

/* The query as the object that JSON-RPC would bring: numbers and booleans where a word looks like one, but
 * ids and tokens stay texts. */
static void add_query(struct ar_jw *w, struct ar_str query)
{
	struct ar_str pair, name, value;
	struct ar_buf text = { 0 };

	while (!ar_str_absent(query)) {
		query = ar_str_split(query, '&', &pair);
		value = ar_str_split(pair, '=', &name);
		if (ar_str_empty(name) || ar_str_absent(value) || !ar_id_acceptable(name) ||
		    ar_str_is(name, "id"))
			continue;
		ar_buf_clear(&text);
		add_decoded(&text, value);
		ar_jw_name(w, name);
		if (ar_str_ends(name, AR_STR("Length")) || ar_str_ends(name, AR_STR("Size")))
			is_number(ar_buf_str(&text)) ? ar_jw_raw(w, ar_buf_str(&text))
						     : ar_jw_str(w, ar_buf_str(&text));
		else if (ar_str_is(value, "true") || ar_str_is(value, "false"))
			ar_jw_raw(w, value);
		else
			ar_jw_str(w, ar_buf_str(&text));
	}
	ar_buf_fini(&text);
}

/* What a path names, still percent-encoded; absent: it does not. */
struct path_ids {
	struct ar_str task, config;
};

/* `ID/pushNotificationConfigs`, and with `/CONFIG` behind it. */
static enum ar_a2a_op push_op(struct ar_str rest, struct ar_str method, struct path_ids *ret)
{
	struct ar_str word;
	bool is_get = ar_str_is(method, "GET");

	rest = ar_str_split(rest, '/', &ret->task);
	ret->config = ar_str_split(rest, '/', &word);
	if (!ar_str_is(word, "pushNotificationConfigs"))
		return AR_A2A_OP_NONE;
	if (ar_str_absent(ret->config))
		return is_get			   ? AR_A2A_OP_PUSH_LIST
		       : ar_str_is(method, "POST") ? AR_A2A_OP_PUSH_SET
						   : AR_A2A_OP_NONE;
	if (is_get)
		return AR_A2A_OP_PUSH_GET;
	return ar_str_is(method, "DELETE") ? AR_A2A_OP_PUSH_DELETE : AR_A2A_OP_NONE;
}

/* `tasks/ID`, `tasks/ID:cancel`, `tasks/ID:subscribe`; the last colon counts. */
static enum ar_a2a_op task_op(struct ar_str rest, struct ar_str method, struct path_ids *ret)
{
	bool is_get = ar_str_is(method, "GET"), is_post = ar_str_is(method, "POST");
	size_t colon = rest.len;

	for (size_t i = 0; i < rest.len; i++) {
		if (rest.p[i] == '/')
			return push_op(rest, method, ret);
		if (rest.p[i] == ':')
			colon = i;
	}
	ret->task = ar_str_sub(rest, 0, colon);
	rest = ar_str_sub(rest, colon, rest.len);
	if (!rest.len && is_get)
		return AR_A2A_OP_GET;
	if (ar_str_is(rest, ":cancel") && is_post)
		return AR_A2A_OP_CANCEL;
	return ar_str_is(rest, ":subscribe") && (is_get || is_post) ? AR_A2A_OP_SUBSCRIBE : AR_A2A_OP_NONE;
}

static enum ar_a2a_op path_op(struct ar_str path, struct ar_str method, struct path_ids *ret)
{
	bool is_get = ar_str_is(method, "GET"), is_post = ar_str_is(method, "POST");

	if (ar_str_is(path, "message:send") && is_post)
		return AR_A2A_OP_SEND;
	if (ar_str_is(path, "message:stream") && is_post)
		return AR_A2A_OP_STREAM;
	if (ar_str_is(path, "tasks") && is_get)
		return AR_A2A_OP_LIST;
	if (ar_str_is(path, "extendedAgentCard") && is_get)
		return AR_A2A_OP_EXTENDED_CARD;
	if (ar_str_starts(path, AR_STR("tasks/")))
		return task_op(ar_str_sub(path, 6, path.len), method, ret);
	return AR_A2A_OP_NONE;
}

static void add_id(struct ar_jw *w, const char *name, struct ar_str encoded)
{
	struct ar_buf text = { 0 };

	if (ar_str_absent(encoded))
		return;
	add_decoded(&text, encoded);
	ar_jw_mstr(w, name, ar_buf_str(&text));
	ar_buf_fini(&text);
}

/* What JSON-RPC would have as params: the body, or what path and query say. */
static void write_params(struct ar_a2a_exchange *x, const struct path_ids *ids,
			 const struct ar_http_request *req, struct ar_buf *out)
{
	bool is_push = ar_a2a_is_push(x->op);
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(out);

	if (x->op == AR_A2A_OP_SEND || x->op == AR_A2A_OP_STREAM || x->op == AR_A2A_OP_PUSH_SET) {
		ar_buf_adds(out, req->content);
		if (x->op == AR_A2A_OP_PUSH_SET) {
			add_decoded(&text, ids->task);
			x->task.id = ar_arena_str(&x->arena, ar_buf_str(&text));
			ar_buf_fini(&text);
		}
		return;
	}
	ar_jw_open(&w);
	add_id(&w, is_push ? "taskId" : "id", ids->task);
	if (is_push)
		add_id(&w, "id", ids->config);
	add_query(&w, req->target.query);
	ar_jw_close(&w);
}

/* The body, with what path and query add to it. */
static bool read_rest(struct ar_a2a_exchange *x, struct ar_str path, const struct ar_http_request *req,
		      struct ar_a2a_failure *f)
{
	struct path_ids ids = { AR_STR_NONE, AR_STR_NONE };
	struct ar_str method = req->head->method, tenant = AR_STR_NONE, rest;
	struct ar_buf params = { 0 };
	struct ar_json doc;
	bool is_good;

	x->op = path_op(path, method, &ids);
	if (!x->op) {
		rest = ar_str_split(path, '/', &tenant);
		x->op = ar_str_absent(rest) ? AR_A2A_OP_NONE : path_op(rest, method, &ids);
		if (x->op && !check_tenant(x, tenant, f))
			return false;
	}
	if (!x->op)
		return ar_a2a_fail(f, AR_A2A_METHOD_NOT_FOUND, NULL, "there is no such operation");
	write_params(x, &ids, req, &params);
	is_good = ar_json_parse(x->server->parser, ar_buf_str(&params), &doc, NULL) == AR_OK;
	if (!is_good)
		ar_a2a_fail(f,
			    x->op <= AR_A2A_OP_STREAM || x->op == AR_A2A_OP_PUSH_SET ? AR_A2A_PARSE
										     : AR_A2A_INVALID_PARAMS,
			    NULL, "the body or the query cannot be read");
	else
		is_good = read_params(x, doc, f);
	ar_buf_fini(&params);
	return is_good;
}

/* ---- the beginning ---- */

/* 0.3 is served over JSON-RPC alone, as the card says. A method of 1.0 without a version is taken as it is:
 * no method of 0.3 has its name. */
static bool check_version(struct ar_a2a_exchange *x, const struct ar_http_request *req,
			  struct ar_a2a_failure *f)
{
	struct ar_str version = req->head->a2a_version, query = req->target.query, pair;

	while (ar_str_empty(version) && !ar_str_absent(query)) {
		query = ar_str_split(query, '&', &pair);
		if (ar_str_starts(pair, AR_STR("A2A-Version=")))
			version = ar_str_sub(pair, 12, pair.len);
	}
	x->version = ar_a2a_version_of(version);
	if (x->version == AR_A2A_1_0 || ar_str_empty(version) ||
	    (x->version && x->is_rpc && x->agent->speaks_v03))
		return true;
	return ar_a2a_fail(f, AR_A2A_VERSION, NULL, "version '%.*s' of A2A is not served here; 1.0 is",
			   AR_STR_ARG(ar_str_utf8_prefix(version, 32)));
}

/* The caller as a channel of its sessions: the same for all messages to this agent, and nobody else's. */
static struct ar_str channel_of(struct ar_a2a_exchange *x)
{
	const struct ar_principal *who = x->carrier->who;
	struct ar_str parts[] = { who ? who->actor : AR_STR("local"), AR_STR("\n"), x->agent->name };
	struct ar_str digits = ar_hash_digits(&x->arena, ar_arena_join(&x->arena, parts, 3), CHANNEL_DIGITS);

	return ar_arena_fmt(&x->arena, "a2a.%.*s", AR_STR_ARG(digits));
}

/* The same message again is the same task. Clients that give two messages one id mean two messages. */
static struct ar_str key_of(struct ar_a2a_exchange *x)
{
	struct ar_str parts[] = { x->channel,	   AR_STR("\n"), x->send.message_id,
				  AR_STR("\n"),	   x->send.task, AR_STR("\n"),
				  x->send.context, AR_STR("\n"), x->send.input };

	if (ar_str_absent(x->send.message_id))
		return AR_STR_NONE;
	return ar_arena_fmt(&x->arena, "a2a:%.*s",
			    AR_STR_ARG(ar_hash_digits(&x->arena,
						      ar_arena_join(&x->arena, parts, AR_ARRAY_LEN(parts)),
						      40)));
}

static struct ar_a2a_exchange *open_exchange(struct ar_http_request *req, const struct ar_a2a_agent *agent)
{
	struct ar_a2a_exchange *x = ar_new0(sizeof *x);
	struct ar_http_server *s = req->carrier->server;

	x->carrier = req->carrier;
	x->server = s;
	x->published = s->ops.a2a;
	x->agent = agent;
	x->until = uv_now(s->loop) + WAIT_MS;
	x->is_v1_type = ar_header_has_word(req->head->accept, "application/a2a+json") ||
			ar_header_has_word(req->head->content_type, "application/a2a+json");
	x->has_cursors = ar_header_has_word(req->head->a2a_extensions, AR_A2A_CURSOR_EXTENSION);
	if (x->has_cursors)
		ar_str_to_u64(req->head->last_event_id, &x->after);
	ar_list_init(&x->due);
	ar_list_push(&s->a2a, &x->node);
	req->carrier->a2a = x;
	req->is_calling = true;
	return x;
}

void ar_a2a_refuse_type(struct ar_http_request *req)
{
	struct ar_str path = req->target.path;
	bool is_rpc = ar_str_ends(path, AR_STR("/rpc")) || ar_str_ends(path, AR_STR("/rpc/"));
	struct ar_a2a_failure f = { 0 };

	ar_a2a_fail(&f, AR_A2A_CONTENT_TYPE, NULL,
		    "the body has to be of the type application/json or application/a2a+json");
	ar_buf_clear(&req->text);
	if (is_rpc)
		ar_a2a_write_rpc_error(&req->text, AR_STR_NONE, &f);
	else
		ar_a2a_write_rest_error(&req->text, &f);
	ar_http_request_answer(req, is_rpc ? 200 : ar_a2a_http(f.code), ar_buf_str(&req->text));
}

void ar_a2a_start(struct ar_http_request *req)
{
	const struct ar_a2a_published *p = req->carrier->server->ops.a2a;
	struct ar_str path = ar_str_sub(req->target.path, sizeof ROOT - 1, req->target.path.len), name;
	const struct ar_principal *who = req->carrier->who;
	const struct ar_a2a_agent *agent;
	struct ar_a2a_failure f = { 0 };
	struct ar_a2a_exchange *x;
	bool is_good;

	path = ar_str_split(path, '/', &name);
	if (ar_str_ends(path, AR_STR("/")))
		path.len--; /* some clients resolve an empty path against the address on the card */
	agent = ar_a2a_agent_find(p, name);
	if (!agent || !ar_a2a_agent_is_for(agent, who ? who->tenant : AR_STR(AR_TENANT_LOCAL))) {
		ar_http_request_refuse(req, AR_ERR_NOT_FOUND, "this server publishes no agent of that name",
				       0);
		return;
	}
	x = open_exchange(req, agent);
	x->is_rpc = ar_str_is(path, "rpc") && !req->route.is_get;
	is_good = check_version(x, req, &f) &&
		  (x->is_rpc ? read_rpc(x, req->content, &f) : read_rest(x, path, req, &f));
	if (!is_good) {
		ar_a2a_refuse(x, &f);
		return;
	}
	x->channel = channel_of(x);
	x->key = key_of(x);
	run(x);
}
