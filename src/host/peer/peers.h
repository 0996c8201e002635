/* Remote agents of the settings (list peers), each behind the peer port. A peer costs nothing but its entry
 * until it is first asked. What a peer does wrong is logged and counted here. Owner: the loop thread. */
#ifndef AR_HOST_PEER_PEERS_H
#define AR_HOST_PEER_PEERS_H

#include "config.h"
#include "log.h"
#include "metric.h"
#include "peer/peer.h"

#include <uv.h>

struct ar_host_peers;

/* AR_E_INVALID: an entry cannot be used; opens nothing. */
AR_MUST_USE enum ar_status ar_host_peers_check(const struct ar_config *c, struct ar_error *err);

struct ar_host_peers_options {
	uv_loop_t *loop;
	const struct ar_config *config; /* in force: tokens are renewed in it */
	const struct ar_log *log;
	struct ar_metrics *metrics; /* NULL: nothing is counted */
};

/* *ret NULL with AR_OK: there are none. All is borrowed for its life. */
AR_MUST_USE enum ar_status ar_host_peers_open(const struct ar_host_peers_options *o,
					      struct ar_host_peers **ret, struct ar_error *err);

/* Ends what is open as cancelled; the loop must run once more. NULL: nothing. */
void ar_host_peers_close(struct ar_host_peers *all);

/* The peer of that name if the tenant may use it. NULL: it may not, or there is none; `all` may be NULL. */
struct ar_peer *ar_host_peers_find(struct ar_host_peers *all, struct ar_str tenant, struct ar_str name);

/* The names of those that the tenant may use, with commas; in the arena. */
struct ar_str ar_host_peers_names(const struct ar_host_peers *all, struct ar_str tenant, struct ar_arena *a);

/* What a peer of this entry did wrong, for the log and the metrics. */
void ar_host_peers_refuse(struct ar_host_peers *all, const struct ar_config_peers *p,
			  enum ar_peer_error error, struct ar_str reason);

/* Its entry in the settings, for those that find() gives; NULL as there. */
const struct ar_config_peers *ar_host_peers_setting(const struct ar_host_peers *all, struct ar_str tenant,
						    struct ar_str name);

#endif
