/* MCP servers of the editor, part of acp.h: server.c starts and ends the programs and talks to them, tool.c
 * offers their tools to turns and makes the calls. They run outside of any sandbox, with the rights of the
 * user whose editor named them. One thread. */
#ifndef AR_CTL_ACP_SERVER_H
#define AR_CTL_ACP_SERVER_H

#include "api.h"

#include <sys/types.h>

#define AR_ACP_SERVERS 8 /* MCP servers of a session */
#define AR_ACP_TOOLS 64 /* of a server */
#define AR_ACP_TOOL_CALLS 16 /* of a server that run at once */

struct ar_acp;
struct ar_acp_session;

struct ar_acp_tool {
	struct ar_buf name; /* to the model; empty: the place is free */
	struct ar_buf own; /* to its server */
	struct ar_buf offer; /* for the options of a turn, as JSON */
};

struct ar_acp_tool_call {
	int64_t request; /* to the server; 0: the place is free */
	struct ar_buf id; /* of the call */
};

/* An MCP server of the editor. */
struct ar_acp_server {
	pid_t pid; /* 0: none, or it has ended */
	int to, from; /* its standard input and output */
	struct ar_buf name, line, unread;
	struct ar_json_parser *parser;
	int64_t last_request, hello, list; /* ids of requests */
	ar_usec until; /* when prompts do not wait for it any more, monotonic */
	bool is_ready; /* its tools are known */
	struct ar_acp_tool tools[AR_ACP_TOOLS];
	size_t tool_count;
	struct ar_acp_tool_call calls[AR_ACP_TOOL_CALLS];
};

/* ---- server.c ---- */

/* Starts what the editor names, in the place of those that run. NULL, or what is wrong with one of them. */
const char *ar_acp_servers_start(struct ar_acp_session *s, struct ar_json configs);
void ar_acp_servers_stop(struct ar_acp_session *s);
void ar_acp_server_stop(struct ar_acp_session *s, struct ar_acp_server *v);
bool ar_acp_servers_wait(const struct ar_acp_session *s); /* one of them still starts */

/* Their descriptors, for the loop; and what they have said. */
size_t ar_acp_servers_watch(struct ar_acp *a, struct ar_http_watch *to, size_t max);
void ar_acp_servers_read(struct ar_acp *a);

/* A request (with an id) or a notification: members of params have to be written, then end. */
struct ar_jw ar_acp_server_begin(struct ar_acp_server *v, const char *method, int64_t *ret_id);
void ar_acp_server_end(struct ar_acp_server *v, struct ar_jw *w);

/* ---- tool.c ---- */

/* A tool that a server lists; false: there is no room for more. */
bool ar_acp_tool_add(struct ar_acp_session *s, struct ar_acp_server *v, struct ar_json tool);
void ar_acp_tools_free(struct ar_acp_server *v);

/* The tools that the next turn has beside those of the runtime, as a JSON array; absent: none. */
struct ar_str ar_acp_tools(struct ar_acp_session *s);

/* tool.started: makes the call if it is ours. */
void ar_acp_tool_call(struct ar_acp_session *s, struct ar_json event, struct ar_str args);
void ar_acp_tool_ended(struct ar_acp_session *s, struct ar_str id);
void ar_acp_tool_answer(struct ar_acp_session *s, struct ar_acp_server *v, int64_t request,
			struct ar_json doc);
void ar_acp_tools_fail(struct ar_acp_session *s, struct ar_acp_server *v); /* calls of one that ended */

#endif
