/* The program of an MCP server in the sandbox, as a transport of edge/mcp. Loop thread only. */
#ifndef AR_MCP_CONTAINED_CONTAINED_WIRE_H
#define AR_MCP_CONTAINED_CONTAINED_WIRE_H

#include "boundary.h"
#include "mcp.h"
#include "wire.h"

/* The boundary of one server: wire_arg of its options. Borrowed until its source is gone. */
struct ar_mcp_contained {
	struct ar_sandbox *sandbox;
	enum ar_sandbox_profile profile;
	struct ar_str name; /* nobody else has it: of its proxy socket, for logs */
	struct ar_str user; /* what its user id is made of, as from the id of a session */
	struct ar_str folder; /* of the workspace */
	bool is_apart; /* of a tenant that variables of the host are not for */
	/* The socket that the proxy is to serve, and that it is gone; NULL: there is no proxy */
	void (*on_listener)(void *arg, struct ar_str name, int fd);
	void (*on_listener_gone)(void *arg, struct ar_str name);
	void *arg;
};

AR_BEGIN_DECLS

/* For open_wire of struct ar_mcp_options. A program that cannot be run in its sandbox is a wire that is gone
 * at once, with the reason. */
struct ar_mcp_wire *ar_mcp_contained_open(uv_loop_t *loop, const struct ar_mcp_options *o,
					  const struct ar_mcp_wire_events *events, void *owner);

AR_END_DECLS

#endif
