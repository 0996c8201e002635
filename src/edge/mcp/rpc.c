/* See rpc.h. Pure. */
#include "rpc.h"

#define ID_MAX 256 /* bytes of a server's own id: it is sent back */

#define CAPABILITIES "{\"elicitation\":{\"form\":{},\"url\":{}}}"
#define CLIENT "{\"name\":\"agentd\",\"title\":\"Agent Runtime\",\"version\":\"" AR_VERSION "\"}"
#define META "io.modelcontextprotocol/"

static bool is_id(struct ar_json v)
{
	struct ar_str text;

	if (ar_json_type(v) == AR_JSON_INT)
		return true;
	return ar_json_str(v, &text) && text.len <= ID_MAX;
}

static enum ar_status read_call(struct ar_json root, struct ar_mcp_message *m, struct ar_error *err)
{
	struct ar_json id = ar_json_get(root, "id");
	enum ar_json_type params;

	m->params = ar_json_get(root, "params");
	params = ar_json_type(m->params);
	if (params != AR_JSON_NONE && params != AR_JSON_OBJECT)
		return ar_fail(err, AR_E_INVALID, "the params of a message are no object");
	if (ar_json_type(id) == AR_JSON_NONE) {
		m->kind = AR_MCP_NOTIFICATION;
		return AR_OK;
	}
	if (!is_id(id))
		return ar_fail(err, AR_E_INVALID,
			       "the id of a request is neither a short text nor an integer");
	m->kind = AR_MCP_REQUEST;
	m->id = id;
	return AR_OK;
}

static enum ar_status read_answer(struct ar_json root, struct ar_mcp_message *m, struct ar_error *err)
{
	struct ar_json error = ar_json_get(root, "error");

	m->result = ar_json_get(root, "result");
	ar_json_i64(ar_json_get(root, "id"), &m->answers);
	if (ar_json_type(m->result) == AR_JSON_OBJECT) {
		m->kind = AR_MCP_RESULT;
		return AR_OK;
	}
	if (ar_json_type(error) != AR_JSON_OBJECT)
		return ar_fail(err, AR_E_INVALID, "a message has neither a method nor a result nor an error");
	m->kind = AR_MCP_ERROR;
	m->error = AR_STR("");
	ar_json_i64(ar_json_get(error, "code"), &m->code);
	ar_json_str(ar_json_get(error, "message"), &m->error);
	m->error_data = ar_json_get(error, "data");
	return AR_OK;
}

enum ar_status ar_mcp_read(struct ar_json_parser *p, struct ar_str text, struct ar_mcp_message *ret,
			   struct ar_error *err)
{
	struct ar_mcp_message m = { 0 };
	struct ar_json root;
	enum ar_status st = ar_json_parse(p, text, &root, err);

	if (st != AR_OK)
		return st;
	if (ar_json_str(ar_json_get(root, "method"), &m.method))
		st = read_call(root, &m, err);
	else
		st = read_answer(root, &m, err);
	if (st == AR_OK)
		*ret = m;
	return st;
}

static void write_meta(struct ar_jw *w, const struct ar_mcp_meta *meta)
{
	if (!meta->modern && meta->progress_token == 0 && ar_str_absent(meta->trace_parent))
		return;
	ar_jw_key(w, "_meta");
	ar_jw_open(w);
	if (meta->progress_token != 0)
		ar_jw_mint(w, "progressToken", meta->progress_token);
	ar_jw_mstr(w, "traceparent", meta->trace_parent);
	if (meta->modern) {
		ar_jw_mstr(w, META "protocolVersion", AR_STR(AR_MCP_VERSION_MODERN));
		ar_jw_mraw(w, META "clientCapabilities", AR_STR(CAPABILITIES));
		ar_jw_mraw(w, META "clientInfo", AR_STR(CLIENT));
	}
	ar_jw_close(w);
}

struct ar_jw ar_mcp_open(struct ar_buf *out, int64_t id, const char *method, const struct ar_mcp_meta *meta)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "jsonrpc", AR_STR("2.0"));
	if (id != 0)
		ar_jw_mint(&w, "id", id);
	ar_jw_mstr(&w, "method", ar_str_from(method));
	ar_jw_key(&w, "params");
	ar_jw_open(&w);
	write_meta(&w, meta);
	return w;
}

void ar_mcp_close(struct ar_jw *w)
{
	ar_jw_close(w);
	ar_jw_close(w);
}

void ar_mcp_write_initialize(struct ar_buf *out, int64_t id)
{
	struct ar_jw w = ar_mcp_open(out, id, "initialize", &(struct ar_mcp_meta){ 0 });

	ar_jw_mstr(&w, "protocolVersion", AR_STR(AR_MCP_VERSION_LEGACY));
	ar_jw_mraw(&w, "capabilities", AR_STR(CAPABILITIES));
	ar_jw_mraw(&w, "clientInfo", AR_STR(CLIENT));
	ar_mcp_close(&w);
}

static struct ar_jw open_answer(struct ar_buf *out, struct ar_str id)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "jsonrpc", AR_STR("2.0"));
	ar_jw_mraw(&w, "id", id);
	return w;
}

void ar_mcp_write_result(struct ar_buf *out, struct ar_str id, struct ar_str result)
{
	struct ar_jw w = open_answer(out, id);

	ar_jw_mraw(&w, "result", result);
	ar_jw_close(&w);
}

void ar_mcp_write_error(struct ar_buf *out, struct ar_str id, int code, struct ar_str message)
{
	struct ar_jw w = open_answer(out, id);

	ar_jw_key(&w, "error");
	ar_jw_open(&w);
	ar_jw_mint(&w, "code", code);
	ar_jw_mstr(&w, "message", message);
	ar_jw_close(&w);
	ar_jw_close(&w);
}
