/* Reads what a server offers and shows it (see source.h). Loop thread only. */
#include "source.h"

#include "mem.h"

#include <stdio.h>
#include <string.h>

#define PAGES_MAX 100
#define CURSOR_MAX 4096
#define AGAIN_MS 1000 /* between two lists, however often the server says that it changed */
#define RETRY_MS 1000 /* after the first failure; doubles */
#define RETRY_MAX_MS 60000

static const struct ar_mcp_request_vtable vtable;

static void show(struct ar_mcp_source *s, const char *trouble)
{
	snprintf(s->trouble, sizeof(s->trouble), "%s", trouble ? trouble : "");
	s->base.trouble = trouble ? s->trouble : NULL;
	s->base.is_ready = true;
	if (s->base.on_changed && !s->is_closing)
		s->base.on_changed(s->base.arg);
}

static ar_usec retry_pause(const struct ar_mcp_source *s)
{
	ar_usec ms = (ar_usec)RETRY_MS << (s->list_failures < 7 ? s->list_failures : 7);

	return (ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS) * 1000;
}

void ar_mcp_list_failed(struct ar_mcp_source *s, const char *why)
{
	char trouble[sizeof(s->trouble)];

	snprintf(trouble, sizeof(trouble), "MCP server '%s': %s%s", s->base.name, why,
		 s->inventory ? "; it is retried at the next call" : "");
	if (!s->inventory) {
		s->list_at = ar_mcp_now() + retry_pause(s);
		s->list_failures++;
		ar_mcp_source_arm(s);
	}
	show(s, trouble);
}

/* Whether somebody who looked before would see the same. */
static bool is_shown(const struct ar_mcp_source *s, const struct ar_mcp_inventory *found, const char *trouble)
{
	bool same_trouble =
		trouble ? s->base.trouble && strcmp(trouble, s->base.trouble) == 0 : !s->base.trouble;

	return s->base.is_ready && same_trouble && ar_mcp_inventory_is_same(s->inventory, found);
}

static void swap(struct ar_mcp_source *s, struct ar_mcp_inventory *found)
{
	char trouble[sizeof(s->trouble)];
	bool partly = found->left_out > 0;
	bool shown;

	if (partly)
		snprintf(trouble, sizeof(trouble), "MCP server '%s': %zu left out; %s", s->base.name,
			 found->left_out, found->why);
	shown = is_shown(s, found, partly ? trouble : NULL);
	s->list_failures = 0;
	if (shown) {
		ar_mcp_inventory_unref(found);
		return;
	}
	ar_mcp_inventory_unref(s->inventory);
	s->inventory = found;
	s->base.tools = found->tools;
	s->base.tool_count = found->count;
	show(s, partly ? trouble : NULL);
}

static void finish_listing(struct ar_mcp_source *s, const char *failed)
{
	struct ar_mcp_listing *l = &s->listing;
	struct ar_mcp_inventory *found = l->found;
	bool again = l->again;

	l->link = NULL;
	l->found = NULL;
	l->again = false;
	ar_buf_fini(&l->cursor);
	s->listed_at = ar_mcp_now();
	if (failed) {
		ar_mcp_inventory_unref(found);
		ar_mcp_list_failed(s, failed);
	} else {
		swap(s, found);
	}
	if (again)
		s->list_at = s->listed_at + AGAIN_MS * 1000;
	ar_mcp_source_arm(s);
}

static void request_page(struct ar_mcp_source *s)
{
	struct ar_mcp_listing *l = &s->listing;
	struct ar_mcp_peer *p = l->link->peer;
	struct ar_buf text = { 0 };
	struct ar_mcp_send m = { .method = "tools/list" };
	int64_t id = ar_mcp_peer_id(p);
	struct ar_jw w = ar_mcp_open(&text, id, m.method, &(struct ar_mcp_meta){ .modern = p->modern });

	if (l->cursor.len > 0)
		ar_jw_mstr(&w, "cursor", ar_buf_str(&l->cursor));
	ar_mcp_close(&w);
	m.text = ar_buf_str(&text);
	l->pages++;
	l->request.v = &vtable;
	l->request.deadline = ar_mcp_now() + (ar_usec)s->options.connect_timeout_ms * 1000;
	if (!ar_mcp_peer_send(p, &l->request, id, &m))
		finish_listing(s, "too many requests are pending");
	ar_buf_fini(&text);
}

static void read_page(struct ar_mcp_source *s, struct ar_json result)
{
	struct ar_mcp_listing *l = &s->listing;
	struct ar_mcp_reading how = {
		.server = ar_str_from(s->options.name),
		.origin = ar_str_from(s->options.origin),
		.is_of_workspace = s->options.is_of_workspace,
		.allowed = s->options.tools,
		.is_browser = s->options.is_browser,
		.trusted = s->options.trust_annotations,
		.sends_headers = s->options.url && l->link->peer->modern,
	};
	struct ar_error err = { 0 };
	struct ar_str cursor = AR_STR("");

	if (ar_mcp_inventory_add(l->found, &how, result, &err) != AR_OK) {
		finish_listing(s, err.msg);
		return;
	}
	ar_json_str(ar_json_get(result, "nextCursor"), &cursor);
	if (cursor.len == 0) {
		finish_listing(s, NULL);
		return;
	}
	if (l->pages == PAGES_MAX || cursor.len > CURSOR_MAX || ar_str_eq(cursor, ar_buf_str(&l->cursor))) {
		finish_listing(s, "its list of tools has too many pages");
		return;
	}
	ar_buf_clear(&l->cursor);
	ar_buf_adds(&l->cursor, cursor);
	request_page(s);
}

static void on_answer(struct ar_mcp_request *r, const struct ar_mcp_message *m)
{
	struct ar_mcp_source *s = AR_CONTAINER_OF(r, struct ar_mcp_source, listing.request);
	char why[400];

	if (m->kind == AR_MCP_RESULT) {
		read_page(s, m->result);
	} else if (m->code == AR_MCP_ERR_METHOD) {
		finish_listing(s, NULL); /* a server without tools */
	} else {
		snprintf(why, sizeof(why), "it refused to list its tools: %.*s",
			 AR_STR_ARG(ar_str_utf8_prefix(m->error, 300)));
		finish_listing(s, why);
	}
}

static void on_failed(struct ar_mcp_request *r, const struct ar_mcp_failure *f)
{
	struct ar_mcp_source *s = AR_CONTAINER_OF(r, struct ar_mcp_source, listing.request);
	char why[400];

	snprintf(why, sizeof(why), "its tools could not be listed: %s", f->why);
	finish_listing(s, why);
}

static const struct ar_mcp_request_vtable vtable = { on_answer, on_failed, NULL };

void ar_mcp_list(struct ar_mcp_link *link)
{
	struct ar_mcp_source *s = link->source;
	struct ar_mcp_listing *l = &s->listing;
	ar_usec soonest = s->listed_at + AGAIN_MS * 1000;

	if (l->link) {
		l->again = true;
		return;
	}
	if (s->inventory && ar_mcp_now() < soonest) {
		s->list_at = soonest;
		ar_mcp_source_arm(s);
		return;
	}
	s->list_at = AR_MCP_NEVER;
	l->link = link;
	l->found = ar_mcp_inventory_new();
	l->pages = 0;
	l->cursor.cap = CURSOR_MAX;
	request_page(s);
}
