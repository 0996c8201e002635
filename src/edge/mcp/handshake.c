/* How a connection begins: which revision of the protocol the server speaks, and the few messages until it
 * can be used (see peer.h). Loop thread only.
 *
 * A modern server answers server/discover. Whatever else comes means legacy, except that nobody is there or
 * wants to know who we are. What was found is kept in the setup for the next connection. */
#include "peer.h"

#include <stdio.h>
#include <string.h>

#define PROBE_MS 5000 /* a legacy server may stay silent before its handshake */
#define LISTEN_PAUSE_MS 1000
#define LISTEN_PAUSE_MAX_MS 60000

enum stage { NOTHING, DISCOVERS, INITIALIZES, CONFIRMS };

/* Revisions that differ from ours in nothing that matters here. */
static const char *const legacy_versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

static const struct ar_mcp_request_vtable hello_vtable, listen_vtable;

static void send_hello(struct ar_mcp_peer *p, enum stage stage, ar_usec deadline)
{
	struct ar_buf text = { 0 };
	int64_t id = ar_mcp_peer_id(p);
	struct ar_mcp_send m = { .method = stage == DISCOVERS ? "server/discover" : "initialize" };
	struct ar_jw w;

	p->hello_stage = (uint8_t)stage;
	p->hello.v = &hello_vtable;
	p->hello.deadline = deadline;
	if (stage == DISCOVERS) {
		w = ar_mcp_open(&text, id, m.method, &(struct ar_mcp_meta){ .modern = true });
		ar_mcp_close(&w);
	} else {
		ar_mcp_write_initialize(&text, id);
	}
	m.text = ar_buf_str(&text);
	if (!ar_mcp_peer_send(p, &p->hello, id, &m))
		ar_mcp_peer_down(p, "too many requests are pending");
	ar_buf_fini(&text);
}

static void discover(struct ar_mcp_peer *p)
{
	ar_usec probe = ar_mcp_now() + (ar_usec)PROBE_MS * 1000;
	bool pinned = p->setup->options->era == AR_MCP_MODERN;

	p->modern = true;
	p->wire->v->agree(p->wire, AR_MCP_VERSION_MODERN, true);
	send_hello(p, DISCOVERS, pinned || probe > p->open_deadline ? p->open_deadline : probe);
}

static void initialize(struct ar_mcp_peer *p)
{
	p->modern = false;
	p->wire->v->agree(p->wire, NULL, false);
	send_hello(p, INITIALIZES, p->open_deadline);
}

void ar_mcp_handshake_begin(struct ar_mcp_peer *p)
{
	enum ar_mcp_era era = p->setup->options->era;

	if (era == AR_MCP_AUTO)
		era = p->setup->era;
	p->asked_twice = false;
	p->reports_changes = false;
	p->listen_failures = 0;
	if (era == AR_MCP_LEGACY || p->skips_probe)
		initialize(p);
	else
		discover(p);
}

bool ar_mcp_handshake_can_skip_probe(const struct ar_mcp_peer *p)
{
	return p->state == AR_MCP_OPENING && p->hello_stage == DISCOVERS &&
	       p->setup->options->era == AR_MCP_AUTO && !p->setup->options->url && !p->skips_probe &&
	       p->garbled == 0;
}

static void finish_handshake(struct ar_mcp_peer *p)
{
	p->hello_stage = NOTHING;
	p->skips_probe = false;
	p->setup->era = p->modern ? AR_MCP_MODERN : AR_MCP_LEGACY;
	ar_mcp_peer_ready(p);
}

static void fail_handshake(struct ar_mcp_peer *p, const char *what, struct ar_str detail)
{
	char why[400];

	p->skips_probe = false;
	p->setup->era = AR_MCP_AUTO;
	p->hello_stage = NOTHING;
	snprintf(why, sizeof(why), "%s: %.*s", what, AR_STR_ARG(ar_str_utf8_prefix(detail, 300)));
	ar_mcp_peer_down(p, why);
}

/* ---- modern ---- */

static bool has_version(struct ar_json list, const char *version)
{
	struct ar_str v;

	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);) {
		if (ar_json_str(it.value, &v) && ar_str_is(v, version))
			return true;
	}
	return false;
}

static void note_capabilities(struct ar_mcp_peer *p, struct ar_json capabilities)
{
	ar_json_bool(ar_json_get(ar_json_get(capabilities, "tools"), "listChanged"), &p->reports_changes);
}

static void fall_back(struct ar_mcp_peer *p, struct ar_str why)
{
	if (p->setup->options->era == AR_MCP_MODERN)
		fail_handshake(p, "it does not support revision " AR_MCP_VERSION_MODERN, why);
	else
		initialize(p);
}

static void read_discovered(struct ar_mcp_peer *p, const struct ar_mcp_message *m)
{
	if (m->kind == AR_MCP_RESULT &&
	    has_version(ar_json_get(m->result, "supportedVersions"), AR_MCP_VERSION_MODERN)) {
		note_capabilities(p, ar_json_get(m->result, "capabilities"));
		finish_handshake(p);
		return;
	}
	if (m->kind == AR_MCP_ERROR && m->code == AR_MCP_ERR_VERSION && !p->asked_twice &&
	    has_version(ar_json_get(m->error_data, "supported"), AR_MCP_VERSION_MODERN)) {
		p->asked_twice = true;
		discover(p);
		return;
	}
	fall_back(p, m->kind == AR_MCP_ERROR ? m->error : AR_STR("it supports other revisions only"));
}

/* ---- legacy ---- */

static const char *known_version(struct ar_str v)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(legacy_versions); i++) {
		if (ar_str_is(v, legacy_versions[i]))
			return legacy_versions[i];
	}
	return NULL;
}

static void confirm(struct ar_mcp_peer *p)
{
	struct ar_buf text = { 0 };
	struct ar_mcp_send m = { .method = "notifications/initialized", .wants_ack = true };
	struct ar_jw w = ar_mcp_open(&text, 0, m.method, &(struct ar_mcp_meta){ 0 });

	ar_mcp_close(&w);
	m.text = ar_buf_str(&text);
	p->hello_stage = CONFIRMS;
	p->wire->v->send(p->wire, &m);
	ar_buf_fini(&text);
}

void ar_mcp_handshake_acked(struct ar_mcp_peer *p)
{
	if (p->hello_stage == CONFIRMS)
		finish_handshake(p);
}

static void read_initialized(struct ar_mcp_peer *p, const struct ar_mcp_message *m)
{
	struct ar_str version = AR_STR("");

	if (m->kind == AR_MCP_ERROR) {
		fail_handshake(p, "it refused the handshake", m->error);
		return;
	}
	ar_json_str(ar_json_get(m->result, "protocolVersion"), &version);
	p->version = known_version(version);
	if (!p->version) {
		fail_handshake(p, "it uses a protocol revision that this client does not know", version);
		return;
	}
	note_capabilities(p, ar_json_get(m->result, "capabilities"));
	p->wire->v->agree(p->wire, p->version, false);
	confirm(p);
}

/* ---- both ---- */

static void on_hello_answer(struct ar_mcp_request *r, const struct ar_mcp_message *m)
{
	struct ar_mcp_peer *p = AR_CONTAINER_OF(r, struct ar_mcp_peer, hello);

	if (p->hello_stage == DISCOVERS)
		read_discovered(p, m);
	else
		read_initialized(p, m);
}

static void on_hello_failed(struct ar_mcp_request *r, const struct ar_mcp_failure *f)
{
	struct ar_mcp_peer *p = AR_CONTAINER_OF(r, struct ar_mcp_peer, hello);
	bool wants_login = f->http == 401 || f->http == 403;

	if (wants_login)
		fail_handshake(p, "it requires authentication; set a header with a token",
			       ar_str_from(f->why));
	else if (p->hello_stage == DISCOVERS && f->sent)
		fall_back(p, ar_str_from(f->why));
	else
		fail_handshake(p, "no connection", ar_str_from(f->why));
}

static const struct ar_mcp_request_vtable hello_vtable = { on_hello_answer, on_hello_failed, NULL };

/* ---- changes, in the modern era ---- */

static void listen_later(struct ar_mcp_peer *p)
{
	ar_usec ms = (ar_usec)LISTEN_PAUSE_MS << p->listen_failures;

	if (p->listen_failures < 7)
		p->listen_failures++;
	p->listen_at = ar_mcp_now() + (ms < LISTEN_PAUSE_MAX_MS ? ms : LISTEN_PAUSE_MAX_MS) * 1000;
	ar_mcp_peer_arm(p);
}

static void on_listen_answer(struct ar_mcp_request *r, const struct ar_mcp_message *m)
{
	/* A result ends a subscription in order, it may be asked for again; an error says that there are
	 * none. */
	if (m->kind == AR_MCP_RESULT)
		listen_later(AR_CONTAINER_OF(r, struct ar_mcp_peer, listen));
}

static void on_listen_failed(struct ar_mcp_request *r, const struct ar_mcp_failure *f AR_UNUSED)
{
	listen_later(AR_CONTAINER_OF(r, struct ar_mcp_peer, listen));
}

static const struct ar_mcp_request_vtable listen_vtable = { on_listen_answer, on_listen_failed, NULL };

void ar_mcp_handshake_listen(struct ar_mcp_peer *p)
{
	struct ar_buf text = { 0 };
	struct ar_mcp_send m = { .method = "subscriptions/listen" };
	int64_t id;
	struct ar_jw w;

	p->listen_at = AR_MCP_NEVER;
	if (!p->modern || !p->reports_changes || p->listen.id != 0)
		return;
	id = ar_mcp_peer_id(p);
	w = ar_mcp_open(&text, id, m.method, &(struct ar_mcp_meta){ .modern = true });
	ar_jw_mraw(&w, "notifications", AR_STR("{\"toolsListChanged\":true}"));
	ar_mcp_close(&w);
	m.text = ar_buf_str(&text);
	p->listen.v = &listen_vtable;
	p->listen.deadline = AR_MCP_NEVER;
	if (!ar_mcp_peer_send(p, &p->listen, id, &m))
		listen_later(p);
	ar_buf_fini(&text);
}
