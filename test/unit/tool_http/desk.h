/* Calls HTTP tools on a loop of their own and keeps how they ended. It fails the test when the source breaks
 * the port's contract: a callback before start() returned, a second one, one that does not come. */
#ifndef AR_TEST_TOOL_HTTP_DESK_H
#define AR_TEST_TOOL_HTTP_DESK_H

#include "server.h"
#include "tool_http.h"

struct desk {
	uv_loop_t loop;
	/* A turn of the loop may end in its timers and then wait for sockets: not longer than this */
	uv_timer_t tick;
	struct server server;
	struct ar_tool_source *source;
	struct ar_tool_call call;
	char url[256];
	bool has_started, is_done;
	/* How it ended. */
	enum ar_tool_outcome outcome;
	char *text, *structured, *image, *mime; /* NULL: absent */
	char category[64], message[512], advice[256];
	bool retryable;
};

/* A server of that kind, and no source yet. */
void desk_init(struct desk *d, enum server_way way, const char *answer);
void desk_fini(struct desk *d);

/* The tool with this path at the server; its url is filled in here. */
void desk_open(struct desk *d, struct ar_tool_http tool, const char *path);
void desk_start(struct desk *d, const char *args);
void desk_wait(struct desk *d);

/* All of it for one call. */
void desk_call(struct desk *d, enum server_way way, const char *answer, struct ar_tool_http tool);

#endif
