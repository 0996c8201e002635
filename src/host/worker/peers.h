/* The nodes that a worker is connected to. It begins with one address, which may be that of a load balancer;
 * the node that answers says its own address and those of all others, and the worker keeps a link to each.
 * A link that is lost is tried again, later and later; a node that no other one names any more is left. While
 * no node at all is reached, the first address is tried, too. Loop thread. */
#ifndef AR_HOST_WORKER_PEERS_H
#define AR_HOST_WORKER_PEERS_H

#include "log.h"
#include "serve.h"

/* Borrowed until the close. */
struct ar_worker_peers_options {
	const char *url; /* the first address */
	const char *ca_file; /* NULL: the system's */
	const struct ar_worker_ports *ports;
	struct ar_serve_shared *shared;
	struct ar_str folders, version, labels; /* as those of serve.h */
	struct ar_texts offered; /* likewise */
	const struct ar_log *log;
	void (*on_joined)(void *arg); /* a node has greeted */
	void (*on_denied)(void *arg, const char *why); /* nothing that is tried again would help; once */
	void (*on_drained)(void *arg); /* after the drain: no call is open, and no result waits */
	void *arg;
};

struct ar_worker_peers;

struct ar_worker_peers *ar_worker_peers_new(uv_loop_t *loop, const struct ar_worker_peers_options *o);

/* Connects with this token, which is copied. */
void ar_worker_peers_join(struct ar_worker_peers *p, struct ar_str token);

void ar_worker_peers_drain(struct ar_worker_peers *p);

/* Whether every node has had a link since this was asked last: each node that has processes here has attached
 * to them. */
bool ar_worker_peers_were_settled(struct ar_worker_peers *p);

/* Calls nothing any more. The memory is given back in the loop's next turns. */
void ar_worker_peers_close(struct ar_worker_peers *p);

#endif
