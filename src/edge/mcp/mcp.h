/* Tools of servers that speak MCP, behind port/tool.h: one source for each configured server. Both revisions
 * of the protocol, 2025-11-25 and 2026-07-28, over the standard streams of a child or over Streamable HTTP.
 * Loop thread only. */
#ifndef AR_MCP_MCP_H
#define AR_MCP_MCP_H

#include "tool.h"

#include <uv.h>

enum ar_mcp_era {
	AR_MCP_AUTO, /* asks in the modern way, then in the legacy one */
	AR_MCP_LEGACY, /* up to 2025-11-25: a handshake, then a session */
	AR_MCP_MODERN, /* 2026-07-28: every request stands alone */
};

enum ar_mcp_scope {
	AR_MCP_SHARED, /* one connection for all */
	/* One for each session that calls, from its first call until it was idle for a while */
	AR_MCP_PER_SESSION,
};

struct ar_mcp_wire; /* wire.h */
struct ar_mcp_wire_events;

/* Zero and NULL mean the default. Everything is copied but for env and headers, whose values may change: what
 * stands there counts when the program starts, or a request is sent. Exactly one of command and url must be
 * there. */
struct ar_mcp_options {
	const char *name; /* of the server: begins the names of its tools */
	const char *command; /* program, looked for in PATH */
	const char *const *args; /* without the program itself; ended by NULL, as the lists below */
	/* NAME=value; beside a few harmless ones of ours, nothing else is handed on */
	const char *const *env;
	const char *workdir; /* where the program runs; NULL: where we do */
	/* Starts the program instead of the source, which would as a child of ours; NULL: the source does */
	struct ar_mcp_wire *(*open_wire)(uv_loop_t *loop, const struct ar_mcp_options *o,
					 const struct ar_mcp_wire_events *events, void *owner);
	void *wire_arg; /* what open_wire needs; borrowed until on_gone */
	const char *origin; /* that its tools name; NULL: the name */
	bool is_of_workspace; /* the workspace itself brings it: it works there, for its sessions alone */
	const char *url;
	const char *const *headers; /* "Name: value", sent with each request */
	const char *const *tools; /* names as the server has them; NULL: all */
	enum ar_mcp_scope scope;
	enum ar_mcp_era era;
	bool is_browser; /* its tools work in a browser */
	bool trust_annotations; /* what the server says about its tools (read-only, ...) is believed */
	uint32_t connect_timeout_ms; /* 30 s: until the server has said who it is, for a list of tools too */
	uint32_t call_timeout_ms; /* 10 min; the deadline of a call may be earlier */
	uint32_t idle_timeout_ms; /* 5 min without a call: connections of a session are closed */
	/* 1 s: how long a child may take to end by itself, then again after SIGTERM */
	uint32_t exit_grace_ms;
	uint32_t restarts_per_minute; /* 5: times that a server which died is started again */
	/* Once after close(): nothing is left of it, no process and no memory; NULL: nobody asks */
	void (*on_gone)(void *arg);
	void *arg;
};

AR_BEGIN_DECLS

/* Never fails: what is wrong shows as `trouble`. Finds out about its tools at once; `is_ready` when that has
 * ended, well or not. close() must not be called from inside on_progress or on_question; the loop must run on
 * until on_gone: a child gets twice exit_grace_ms to end before it is killed, a session over HTTP two seconds
 * to be ended. */
struct ar_tool_source *ar_mcp_source_new(uv_loop_t *loop, const struct ar_mcp_options *o);

AR_END_DECLS

#endif
