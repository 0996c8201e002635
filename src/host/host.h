/* The whole runtime wired together on one loop: store, follow, engine, provider, control, HTTP. The only place that knows both
 * rings. Owner: the thread that calls ar_host_run. */
#ifndef AR_HOST_HOST_H
#define AR_HOST_HOST_H

#include "arena.h"
#include "config.h"
#include "ops/service.h"
#include "status.h"

struct ar_host;

/* Which process this is among those that may run under the same node id, and whether it comes back after it was fenced. */
struct ar_host_start {
	uint64_t instance;
	bool is_rejoin;
	int stdio_in,
		stdio_out; /* where one peer of JSON-RPC is served, until it has said all; both 0: nowhere. The runtime's then. */
	struct ar_settings
		*settings; /* what get_settings shows, and whose references are renewed; NULL: nothing */
	const struct ar_service *service; /* who watches over the process; NULL: nobody */
	void (*ready)(void *arg,
		      const struct ar_host *r); /* once per run: sessions can be made and reached */
	void (*reload)(void *arg); /* SIGHUP: certificates are read again already; NULL: nothing more is */
	void *arg;
};

enum ar_run_end {
	AR_RUN_STOPPED = 0, /* as asked */
	AR_RUN_FENCED, /* another owns what this node held: free it and open it again, as a new epoch */
};

/* Opens the store (making the folder if need be), starts to serve, begins recovery in the background. AR_E_EXISTS on a rejoin: another
 * process runs under this node id. Both arguments must outlive it. Renewed secrets are written into the settings in force. */
AR_MUST_USE enum ar_status ar_host_open(struct ar_config *config, const struct ar_host_start *start,
					struct ar_host **ret, struct ar_error *err);

/* Where it serves, for the ready line. Port 0 and NULL mean: not there. */
unsigned ar_host_port(const struct ar_host *r);

/* A free port that was chosen at open is written into the settings, so that the next open serves there again. */
void ar_host_keep_port(const struct ar_host *r, struct ar_config *config, struct ar_arena *a);

/* Runs until SIGTERM, SIGINT or the end of the input on stdio, then drains: other nodes take the sessions over, or, after a signal and where there is no cluster,
 * calls under way get shutdown.grace_ms to end; requests under way are answered, commits finish, streams end with their cursor. Calls that are still open are
 * left for the next owner to take up. */
void ar_host_run(struct ar_host *r);

/* Says again how it ended: a request to stop may have come meanwhile. */
enum ar_run_end ar_host_free(struct ar_host *r);

#endif
