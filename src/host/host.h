/* The whole runtime wired together on one loop: store, follow, engine, provider, control, HTTP. The only
 * place that knows both rings. It installs no signal handler and writes to no descriptor of the process;
 * the owner decides that. Owner: the thread that runs the loop. */
#ifndef AR_HOST_HOST_H
#define AR_HOST_HOST_H

#include "arena.h"
#include "config.h"
#include "log.h"
#include "status.h"

#include <uv.h>

struct ar_host;
struct ar_http_server;
struct ar_settings;
struct ar_settings_args;
struct ar_tool_source;

/* Which process this is among those that may run under the same node id, and whether it comes back after
 * it was fenced. */
struct ar_host_start {
	uint64_t instance;
	bool is_rejoin;
	/* Where one peer of JSON-RPC is served, until it has said all; both 0: nowhere. The runtime's
	 * then. */
	int stdio_in, stdio_out;
	int listen_fd, socket_fd; /* sockets that listen already, TCP and unix; 0: none. Copied. */
	/* What get_settings shows, and whose references are renewed; NULL: nothing. */
	struct ar_settings *settings;
	const struct ar_settings_args *args; /* how a reload finds the settings again; NULL: it does not */
	/* Tools of the owner, made for this host and taken over by it; NULL: there are none. */
	struct ar_tool_source *(*open_tools)(void *arg);
	struct ar_log log;
	void (*ready)(void *arg, const struct ar_host *r); /* once: sessions can be made and reached */
	void (*stopping)(void *arg); /* once: it drains */
	void *arg;
};

enum ar_run_end {
	AR_RUN_STOPPED = 0, /* as asked */
	AR_RUN_FENCED, /* another owns what this node held: free it and open it again, as a new epoch */
};

/* Opens the store (making the folder if need be), starts to serve, begins recovery in the background.
 * AR_E_EXISTS: another process has the data folder or the address, or, on a rejoin, the node id. The
 * arguments must outlive it. Renewed secrets are written into the settings in force. */
AR_MUST_USE enum ar_status ar_host_open(uv_loop_t *loop, struct ar_config *config,
					const struct ar_host_start *start, struct ar_host **ret,
					struct ar_error *err);

/* Where it serves; 0: nowhere over TCP. */
unsigned ar_host_port(const struct ar_host *r);

/* What calls of the owner's own go to. */
struct ar_http_server *ar_host_http(const struct ar_host *r);

/* From now on it works while the loop runs, until ar_host_is_over(), which also ends that uv_run. */
void ar_host_begin(struct ar_host *r);
bool ar_host_is_over(const struct ar_host *r);

/* Begins what can begin now and sets the loop's timer for what is due next. The loop does so itself before
 * it sleeps; for who sleeps elsewhere. */
void ar_host_settle(struct ar_host *r);

/* Drains: other nodes take the sessions over, or, where there is no cluster, calls under way get
 * shutdown.grace_ms to end; requests under way are answered, commits finish, streams end with their
 * cursor. Calls that are still open are left for the next owner to take up. A second request ends it at
 * once. `actor` is for the audit trail. */
void ar_host_finish(struct ar_host *r, const char *actor);

/* Reads certificates and settings again, and asks again for secrets. */
void ar_host_reload(struct ar_host *r, const char *actor);

/* Says how it ended: a request to stop may have come meanwhile. Runs the loop until nothing of the host is
 * left on it. */
enum ar_run_end ar_host_free(struct ar_host *r);

#endif
