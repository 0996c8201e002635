/* What the files of the source share: the source, its connections, its listing. Nobody outside this module
 * includes it. Loop thread only. */
#ifndef AR_MCP_SOURCE_H
#define AR_MCP_SOURCE_H

#include "inventory.h"
#include "peer.h"

struct ar_mcp_source;

/* A connection and the calls that go over it. */
struct ar_mcp_link {
	struct ar_mcp_source *source;
	struct ar_mcp_peer *peer;
	struct ar_list node;
	struct ar_list calls; /* struct ar_mcp_call, not ended */
	char *session; /* NULL: for all, or (one connection for each session) for the list of tools alone */
	ar_usec idle_at; /* closed then unless used */
	bool resetting; /* goes down to come back at once: what waits goes on waiting */
};

/* Reading the list of tools, page by page. */
struct ar_mcp_listing {
	struct ar_mcp_request request;
	struct ar_mcp_link *link; /* NULL: none is under way */
	struct ar_mcp_inventory *found;
	struct ar_buf cursor;
	uint32_t pages;
	bool again; /* it changed meanwhile */
};

struct ar_mcp_source {
	struct ar_tool_source base;
	struct ar_mcp_setup setup;
	struct ar_mcp_options options;
	struct ar_arena arena; /* of the options */
	struct ar_mcp_inventory *inventory; /* NULL: none yet */
	struct ar_mcp_listing listing;
	struct ar_list links;
	struct ar_list ended; /* calls whose on_done is due */
	uv_timer_t due, chores;
	ar_usec list_at; /* when to list (again); AR_MCP_NEVER: when something happens */
	ar_usec listed_at;
	uint32_t list_failures; /* in a row */
	int handles;
	bool is_closing;
	char trouble[800];
};

AR_BEGIN_DECLS

/* ---- listing.c ---- */

/* Lists over this connection, which is ready; soon, when it was done only just now. */
void ar_mcp_list(struct ar_mcp_link *link);

/* It could not be listed, or the server is gone: notifies the owner of the source, and tries again later when
 * nothing was ever listed. */
void ar_mcp_list_failed(struct ar_mcp_source *s, const char *why);

/* ---- source.c ---- */

void ar_mcp_source_arm(struct ar_mcp_source *s); /* after list_at or idle_at changed */
void ar_mcp_source_deliver_soon(struct ar_mcp_source *s); /* after something went to `ended` */

/* The server forgot us: the connection begins anew, what waits goes on waiting. */
void ar_mcp_link_reset(struct ar_mcp_link *link, const char *why);

AR_END_DECLS

#endif
