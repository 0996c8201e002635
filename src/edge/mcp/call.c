/* See call.h; questions are in call_ask.c. Loop thread only. */
#include "call.h"

#include "mem.h"
#include "result.h"

#include <stdio.h>
#include <string.h>

static const struct ar_mcp_request_vtable vtable;

static struct ar_mcp_call *call_of(struct ar_mcp_request *r)
{
	return AR_CONTAINER_OF(r, struct ar_mcp_call, request);
}

bool ar_mcp_call_is(const struct ar_mcp_request *r)
{
	return r->v == &vtable;
}

struct ar_mcp_call *ar_mcp_call_new(struct ar_mcp_link *link, struct ar_tool_call *port, size_t index)
{
	struct ar_mcp_call *c = ar_new0(sizeof(*c));

	c->link = link;
	c->port = port;
	c->inventory = ar_mcp_inventory_ref(link->source->inventory);
	c->tool = &c->inventory->remotes[index];
	c->request.v = &vtable;
	c->waits = true;
	port->source_state = c;
	ar_list_push(&link->calls, &c->node);
	return c;
}

void ar_mcp_call_free(struct ar_mcp_call *c)
{
	ar_mcp_inventory_unref(c->inventory);
	ar_arena_fini(&c->arena);
	ar_free(c);
}

/* ---- the end ---- */

static void close_call(struct ar_mcp_call *c)
{
	struct ar_mcp_source *s = c->link->source;

	if (c->last_id != 0)
		c->result.request_id = ar_arena_fmt(&c->arena, "%lld", (long long)c->last_id);
	c->has_ended = true;
	c->waits = false;
	ar_mcp_call_withdraw(c);
	ar_list_del(&c->node);
	ar_list_push(&s->ended, &c->node);
	c->link->idle_at = ar_mcp_now() + (ar_usec)s->options.idle_timeout_ms * 1000;
	ar_mcp_source_arm(s);
	ar_mcp_source_deliver_soon(s);
}

void ar_mcp_call_end(struct ar_mcp_call *c, enum ar_tool_outcome outcome, const char *category,
		     const char *why)
{
	struct ar_str text;

	if (c->has_ended)
		return;
	text = ar_arena_fmt(&c->arena, "MCP server '%s': %s", c->link->source->base.name, why);
	ar_mcp_result_end(&c->arena, outcome, category, text.p, &c->result);
	close_call(c);
}

void ar_mcp_call_cancel(struct ar_mcp_call *c, const char *why)
{
	if (c->has_ended)
		return;
	ar_mcp_peer_drop(c->link->peer, &c->request, "cancelled");
	ar_mcp_call_end(c, AR_TOOL_CANCELLED, "cancelled", why);
}

/* ---- the answer ---- */

static void read_result(struct ar_mcp_call *c, struct ar_json result)
{
	struct ar_str type = AR_STR("complete");

	ar_json_str(ar_json_get(result, "resultType"), &type);
	if (ar_str_is(type, "input_required")) {
		ar_mcp_call_on_input_required(c, result);
		return;
	}
	if (!ar_str_is(type, "complete")) {
		ar_mcp_call_end(c, AR_TOOL_ERROR, "protocol", "it answered with an unknown kind of result");
		return;
	}
	ar_mcp_result_read(&c->arena, result, &c->result);
	close_call(c);
}

static void on_answer(struct ar_mcp_request *r, const struct ar_mcp_message *m)
{
	struct ar_mcp_call *c = call_of(r);

	if (m->kind == AR_MCP_RESULT) {
		read_result(c, m->result);
		return;
	}
	if (m->code == AR_MCP_ERR_URL_REQUIRED) {
		ar_mcp_call_on_url_required(c, m);
		return;
	}
	if (m->code == AR_MCP_ERR_HEADERS)
		ar_mcp_list(c->link); /* our idea of its schema is old */
	ar_mcp_result_refused(&c->arena, m, &c->result);
	close_call(c);
}

/* What a refusal by status says about whether it ran. */
static void end_refused(struct ar_mcp_call *c, const struct ar_mcp_failure *f)
{
	bool busy = f->http == 429 || f->http == 503;

	if (f->http == 401 || f->http == 403)
		ar_mcp_call_end(c, AR_TOOL_NOT_RUN, "auth",
				"it refused our credentials; set a header with a valid token");
	else if (f->http < 500 || busy)
		ar_mcp_call_end(c, AR_TOOL_NOT_RUN, busy ? "overloaded" : "protocol", f->why);
	else
		ar_mcp_call_end(c, AR_TOOL_LOST, "network", f->why);
}

static void on_failed(struct ar_mcp_request *r, const struct ar_mcp_failure *f)
{
	struct ar_mcp_call *c = call_of(r);

	if (f->timed_out)
		ar_mcp_call_end(c, AR_TOOL_TIMEOUT, "timeout", f->why);
	else if (f->garbled)
		ar_mcp_call_end(c, AR_TOOL_LOST, "protocol", f->why);
	else if (f->http >= 300 && (f->http == 404 || f->http == 400) && !c->link->peer->modern &&
		 !c->was_resent) {
		c->was_resent = true;
		c->waits = true;
		ar_mcp_link_reset(c->link, f->why);
	} else if (f->http >= 300)
		end_refused(c, f);
	else
		ar_mcp_call_end(c, f->sent ? AR_TOOL_LOST : AR_TOOL_NOT_RUN, "network", f->why);
}

static void on_progress(struct ar_mcp_request *r, struct ar_json params)
{
	struct ar_mcp_call *c = call_of(r);
	struct ar_tool_progress p = { .text = AR_STR(""), .percent = -1 };
	double done = 0, total = 0;

	ar_json_str(ar_json_get(params, "message"), &p.text);
	p.text = ar_str_utf8_prefix(p.text, AR_TOOL_DESCRIPTION_MAX);
	ar_json_num(ar_json_get(params, "progress"), &done);
	ar_json_num(ar_json_get(params, "total"), &total);
	if (total > 0 && done >= 0)
		p.percent = done >= total ? 100 : done / total * 100;
	c->port->v->on_progress(c->port, &p);
}

static const struct ar_mcp_request_vtable vtable = { on_answer, on_failed, on_progress };

/* ---- the request ---- */

/* A person who thinks does not use up the server's time. */
void ar_mcp_call_set_deadline(struct ar_mcp_call *c)
{
	ar_usec now = ar_mcp_now(), deadline = now + (ar_usec)c->link->source->options.call_timeout_ms * 1000;

	if (c->port->deadline > 0 && c->port->deadline < deadline)
		deadline = c->port->deadline;
	c->request.deadline = ar_mcp_call_has_open_questions(c) ? AR_MCP_NEVER : deadline;
	if (c->request.id != 0)
		ar_mcp_peer_arm(c->link->peer);
}

static void write_headers(const struct ar_mcp_call *c, struct ar_str args, struct ar_buf *out)
{
	struct ar_json root;

	if (!ar_str_absent(c->port->trace_parent))
		ar_buf_addf(out, "traceparent: %.*s\n", AR_STR_ARG(c->port->trace_parent));
	if (c->tool->params.count == 0 || !c->link->peer->modern)
		return;
	if (ar_json_parse(c->link->source->setup.requests, args, &root, NULL) == AR_OK)
		ar_mcp_params_write(&c->tool->params, root, out);
}

void ar_mcp_call_go(struct ar_mcp_call *c)
{
	struct ar_mcp_peer *p = c->link->peer;
	struct ar_str args = c->port->args.len > 0 ? c->port->args : AR_STR("{}");
	struct ar_buf text = { 0 }, headers = { 0 };
	struct ar_mcp_send m = { .method = "tools/call", .name = c->tool->name };
	int64_t id = ar_mcp_peer_id(p);
	struct ar_jw w = ar_mcp_open(&text, id, m.method,
				     &(struct ar_mcp_meta){ p->modern, id, c->port->trace_parent });

	c->waits = false;
	ar_jw_mstr(&w, "name", c->tool->name);
	ar_jw_mraw(&w, "arguments", args);
	if (c->resumes)
		ar_mcp_call_write_answers(c, &w);
	ar_mcp_close(&w);
	write_headers(c, args, &headers);
	m.text = ar_buf_str(&text);
	m.headers = ar_buf_str(&headers);
	ar_mcp_call_set_deadline(c);
	c->last_id = id;
	if (!ar_mcp_peer_send(p, &c->request, id, &m))
		ar_mcp_call_end(c, AR_TOOL_NOT_RUN, "overloaded",
				"too many calls are open; try again when some have ended");
	ar_buf_fini(&text);
	ar_buf_fini(&headers);
}
