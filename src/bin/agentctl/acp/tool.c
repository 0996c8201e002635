/* See acp.h: tools of the editor's MCP servers. To the daemon they are tools of a client: it decides about
 * each call and records it; the call is made here. Only calls of turns that this editor started are made, so
 * that none is made twice when two editors bring the same server. */
#include "acp/acp.h"

#include <string.h>

#define NAME_MAX_BYTES 64
#define TOOLS_BYTES ((size_t)40 << 10) /* of all tools of a session: options of a turn have a limit */
#define OFFERS_MAX 128 /* tools that a turn may describe */
#define RESULT_MAX ((size_t)512 << 10)

/* ---- what is offered ---- */

void ar_acp_tools_free(struct ar_acp_server *v)
{
	for (size_t i = 0; i < AR_ACP_TOOLS; i++) {
		ar_buf_fini(&v->tools[i].name);
		ar_buf_fini(&v->tools[i].own);
		ar_buf_fini(&v->tools[i].offer);
	}
	for (size_t i = 0; i < AR_ACP_TOOL_CALLS; i++)
		ar_buf_fini(&v->calls[i].id);
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '-';
}

/* "server__tool", in the letters that names of tools have. */
static void add_name(struct ar_buf *to, struct ar_str server, struct ar_str tool)
{
	struct ar_str parts[] = { server, AR_STR("__"), tool };

	for (size_t i = 0; i < AR_ARRAY_LEN(parts); i++) {
		for (size_t k = 0; k < parts[i].len; k++)
			ar_buf_addc(to, is_name_char(parts[i].p[k]) ? parts[i].p[k] : '_');
	}
}

static struct ar_acp_tool *find_tool(struct ar_acp_session *s, struct ar_str name, struct ar_acp_server **ret)
{
	for (size_t i = 0; i < AR_ACP_SERVERS * AR_ACP_TOOLS; i++) {
		struct ar_acp_server *v = &s->servers[i / AR_ACP_TOOLS];
		struct ar_acp_tool *t = &v->tools[i % AR_ACP_TOOLS];

		if (t->name.len && ar_str_eq(ar_buf_str(&t->name), name)) {
			*ret = v;
			return t;
		}
	}
	return NULL;
}

static size_t offered_bytes(const struct ar_acp_session *s)
{
	size_t sum = 0;

	for (size_t i = 0; i < AR_ACP_SERVERS * AR_ACP_TOOLS; i++)
		sum += s->servers[i / AR_ACP_TOOLS].tools[i % AR_ACP_TOOLS].offer.len;
	return sum;
}

/* What a server says of itself makes a call stricter, never looser. */
static void write_offer(struct ar_buf *to, struct ar_str name, struct ar_json tool)
{
	struct ar_jw w = ar_jw(to);
	bool is_destructive = false;

	ar_json_bool(ar_api_path(tool, "annotations.destructiveHint"), &is_destructive);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "name", name);
	ar_jw_mstr(&w, "description", ar_str_utf8_prefix(ar_api_str(tool, "description"), 4096));
	ar_jw_key(&w, "inputSchema");
	ar_json_print(ar_json_get(tool, "inputSchema"), to);
	w.comma = true;
	if (is_destructive)
		ar_jw_mbool(&w, "isDestructive", true);
	ar_jw_close(&w);
}

bool ar_acp_tool_add(struct ar_acp_session *s, struct ar_acp_server *v, struct ar_json tool)
{
	struct ar_str own = ar_api_str(tool, "name");
	struct ar_buf name = { 0 }, offer = { 0 };
	struct ar_acp_server *other;
	bool is_good;

	if (v->tool_count == AR_ACP_TOOLS)
		return false;
	add_name(&name, ar_buf_str(&v->name), own);
	is_good = !ar_str_empty(own) && name.len <= NAME_MAX_BYTES &&
		  ar_json_type(ar_json_get(tool, "inputSchema")) == AR_JSON_OBJECT &&
		  !find_tool(s, ar_buf_str(&name), &other);
	if (is_good)
		write_offer(&offer, ar_buf_str(&name), tool);
	if (is_good && offered_bytes(s) + offer.len <= TOOLS_BYTES) {
		v->tools[v->tool_count] = (struct ar_acp_tool){ .name = name, .offer = offer };
		ar_buf_adds(&v->tools[v->tool_count++].own, own);
		return true;
	}
	ar_ctl_note(s->acp->ctl, "the tool %.*s is left out", AR_STR_ARG(ar_str_utf8_prefix(own, 64)));
	ar_buf_fini(&name);
	ar_buf_fini(&offer);
	return true;
}

/* Descriptions without names of other tools add to what the runtime has. */
struct ar_str ar_acp_tools(struct ar_acp_session *s)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);
	size_t count = 0;

	ar_jw_open_array(&w);
	for (size_t i = 0; i < AR_ACP_SERVERS * AR_ACP_TOOLS && count < OFFERS_MAX; i++) {
		const struct ar_acp_server *v = &s->servers[i / AR_ACP_TOOLS];
		const struct ar_acp_tool *t = &v->tools[i % AR_ACP_TOOLS];

		if (!v->pid || !t->offer.len)
			continue;
		ar_jw_raw(&w, ar_buf_str(&t->offer));
		count++;
	}
	ar_jw_close_array(&w);
	if (count)
		return ar_ctl_take_buf(s->acp->ctl, &text);
	ar_buf_fini(&text);
	return AR_STR_NONE;
}

/* ---- calls ---- */

static void report(struct ar_acp_session *s, struct ar_str id, bool is_good, struct ar_str output)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "toolCallId", id);
	ar_jw_mstr(&w, "status", is_good ? AR_STR("ok") : AR_STR("error"));
	ar_jw_mstr(&w, "output", ar_str_utf8_prefix(output, RESULT_MAX));
	ar_jw_close(&w);
	if (ar_api_call(s->acp->ctl, "report_tool_result", ar_ctl_take_buf(s->acp->ctl, &body), &reply) !=
	    AR_EXIT_OK)
		ar_ctl_note(s->acp->ctl, "the result of %.*s is not recorded", AR_STR_ARG(id));
	ar_api_fini(&reply);
}

static struct ar_acp_tool_call *free_call(struct ar_acp_server *v)
{
	for (size_t i = 0; i < AR_ACP_TOOL_CALLS; i++) {
		if (!v->calls[i].request)
			return &v->calls[i];
	}
	return NULL;
}

static bool is_own_turn(struct ar_acp_session *s, struct ar_str turn)
{
	for (size_t i = 0; i < AR_ACP_PROMPTS; i++) {
		if (s->prompts[i].turn.len && ar_str_eq(ar_buf_str(&s->prompts[i].turn), turn))
			return true;
	}
	return false;
}

static void send_call(struct ar_acp_server *v, struct ar_acp_tool_call *c, const struct ar_acp_tool *t,
		      struct ar_str args)
{
	struct ar_jw w = ar_acp_server_begin(v, "tools/call", &c->request);

	ar_jw_mstr(&w, "name", ar_buf_str(&t->own));
	ar_jw_mraw(&w, "arguments", args);
	ar_acp_server_end(v, &w);
}

void ar_acp_tool_call(struct ar_acp_session *s, struct ar_json event, struct ar_str args)
{
	struct ar_json payload = ar_json_get(event, "payload");
	struct ar_str id = ar_api_str(event, "toolCallId");
	struct ar_acp_server *v = NULL;
	struct ar_acp_tool *t = find_tool(s, ar_api_str(payload, "toolName"), &v);
	struct ar_acp_tool_call *c;

	if (!t || s->is_replay || !ar_str_is(ar_api_str(payload, "runtimeOwner"), "client") ||
	    !is_own_turn(s, ar_api_str(event, "turnId")))
		return;
	c = v->pid ? free_call(v) : NULL;
	if (!c) {
		report(s, id, false, AR_STR("the MCP server of the editor has ended, or has too much to do"));
		return;
	}
	ar_buf_clear(&c->id);
	ar_buf_adds(&c->id, id);
	send_call(v, c, t, args);
}

/* Text of the result; of what is no text only its kind. */
static void read_content(struct ar_json result, struct ar_buf *to)
{
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(result, "content")); ar_json_next(&it);) {
		struct ar_str text = ar_api_str(it.value, "text"), type = ar_api_str(it.value, "type");

		if (to->len)
			ar_buf_addc(to, '\n');
		if (ar_str_absent(text))
			ar_buf_addf(to, "[%.*s]", AR_STR_ARG(ar_str_utf8_prefix(type, 64)));
		else
			ar_buf_adds(to, text);
	}
}

void ar_acp_tool_answer(struct ar_acp_session *s, struct ar_acp_server *v, int64_t request,
			struct ar_json doc)
{
	struct ar_json result = ar_json_get(doc, "result"), error = ar_json_get(doc, "error");
	bool is_error = ar_json_type(error) == AR_JSON_OBJECT;
	struct ar_buf text = { 0 };

	for (size_t i = 0; i < AR_ACP_TOOL_CALLS; i++) {
		if (v->calls[i].request != request)
			continue;
		v->calls[i].request = 0;
		if (is_error)
			ar_buf_adds(&text, ar_api_str(error, "message"));
		else
			read_content(result, &text);
		ar_json_bool(ar_json_get(result, "isError"), &is_error);
		report(s, ar_buf_str(&v->calls[i].id), !is_error, ar_buf_str(&text));
	}
	ar_buf_fini(&text);
}

/* The daemon has ended the call, by an interruption or a timeout. */
static void cancel_call(struct ar_acp_server *v, struct ar_acp_tool_call *c)
{
	struct ar_jw w = ar_acp_server_begin(v, "notifications/cancelled", NULL);

	ar_jw_mint(&w, "requestId", c->request);
	ar_acp_server_end(v, &w);
	c->request = 0;
}

void ar_acp_tool_ended(struct ar_acp_session *s, struct ar_str id)
{
	for (size_t i = 0; i < AR_ACP_SERVERS * AR_ACP_TOOL_CALLS; i++) {
		struct ar_acp_server *v = &s->servers[i / AR_ACP_TOOL_CALLS];
		struct ar_acp_tool_call *c = &v->calls[i % AR_ACP_TOOL_CALLS];

		if (c->request && v->pid && ar_str_eq(ar_buf_str(&c->id), id))
			cancel_call(v, c);
	}
}

void ar_acp_tools_fail(struct ar_acp_session *s, struct ar_acp_server *v)
{
	for (size_t i = 0; i < AR_ACP_TOOL_CALLS; i++) {
		if (v->calls[i].request)
			report(s, ar_buf_str(&v->calls[i].id), false,
			       AR_STR("the MCP server of the editor has ended"));
		v->calls[i].request = 0;
	}
}
