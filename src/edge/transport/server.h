/* The server and how its parts hang together: it has listeners; what they take becomes a link, whose
 * owner is a protocol (h1/h1_conn.h); a protocol has carriers, and a carrier has a request while a
 * request is read or answered, a stream once it follows events, and a forward while another node
 * answers. Owner: the loop thread. */
#ifndef AR_TRANSPORT_SERVER_H
#define AR_TRANSPORT_SERVER_H

#include "deadline.h"
#include "h1/h1_codec.h"
#include "h2/h2_conn.h"
#include "link/link.h"
#include "link/peer_user.h"
#include "link/slots.h"
#include "list.h"
#include "names.h"
#include "peer/peer_link.h"
#include "tls/tls_link.h"
#include "transport.h"
#include "ws_codec.h"

#define AR_H1_SPARES 8

struct ar_auth;
struct ar_h1_request;
struct ar_json_parser;

struct ar_listener {
	union ar_stream_handle u;
	struct ar_http_server *server;
	bool is_unix;
	bool is_peer; /* other nodes of the cluster come in here */
	bool is_tls;
	bool is_open;
};

struct ar_http_server {
	uv_loop_t *loop;
	struct ar_control *control;
	struct ar_h1_limits limits;
	struct ar_slots slots;
	uint32_t max_subscribers;
	size_t kept_descriptors;
	int max_fd; /* descriptors from here on are for files, models and tools, not for clients */
	int max_kept_fd; /* the same for the unix socket and other nodes */
	/* milliseconds; connections were turned away for want of descriptors, and a while after */
	uint64_t strained_until;
	struct ar_http_counters counters;
	struct ar_listener tcp, local, cluster;
	struct ar_http_ops ops;
	struct ar_http_workers workers;
	struct ar_names names;
	struct ar_tls_shared tls;
	struct ar_h2_shared h2;
	struct ar_peers peers;
	uv_timer_t sweep;
	uint64_t swept; /* milliseconds, the last sweep */
	bool is_paused; /* the process stood still before it */
	uv_timer_t settle;
	struct ar_list settling; /* requests that wait for an owner, in order of their next try */
	uint32_t settle_ms;
	uv_prepare_t flush;
	/* active while something waits for the flush, so that the loop does not sleep before it */
	uv_idle_t awake;
	struct ar_deadlines deadlines;
	struct ar_list links;
	struct ar_peer_users users;
	struct ar_auth *auth; /* NULL: every caller is the operator */
	struct ar_list admissions; /* those whose credentials are checked again */
	uint64_t next_check; /* milliseconds */
	struct ar_list streams; /* those that have something to write */
	struct ar_list a2a, a2a_due; /* requests of A2A that wait, and those with something to do */
	struct ar_list outboxes; /* of message wires, the same */
	struct ar_list tells; /* notes on their way to other nodes (peer/tell.c) */
	struct ar_list passes; /* commands of sessions on their way to other nodes (peer/pass.c) */
	struct ar_ws_spare ws_spare;
	struct ar_h1_request *h1_spares[AR_H1_SPARES]; /* h1/h1_request.c */
	size_t h1_spare_count;
	struct ar_json_parser *parser;
	char *read_buffer; /* one for all: what is read is consumed or copied before the next read */
	unsigned handles; /* open handles of the server itself */
	bool is_draining;
	bool is_closing;
	ar_http_closed_fn *closed;
	void *closed_arg;
};

/* ---- server.c ---- */

/* A link or handle is gone; finishes the close when it was the last. */
void ar_server_check_closed(struct ar_http_server *s);

/* The loop comes to the flush soon, also if the flush of this turn is over. */
void ar_server_wake(struct ar_http_server *s);

static inline void ar_server_set_deadline(struct ar_http_server *s, struct ar_deadline *d,
					  enum ar_deadline_kind kind)
{
	ar_deadline_set(&s->deadlines, d, kind, uv_now(s->loop));
}

/* Small bodies are let in whole, whatever the memory: what ends work is among them. */
#define AR_LARGE_BODY 16384

/* Whether a body or message may go on, of which `len` bytes are here and `bytes` came last. */
static inline bool ar_server_has_room(const struct ar_http_server *s, size_t bytes, size_t len)
{
	return len <= AR_LARGE_BODY || !s->ops.is_short || !s->ops.is_short(s->ops.arg, bytes);
}

/* ---- descriptors.c ---- */

/* Whether this descriptor leaves too few for the rest of the process; `is_kept`: some are kept for its
 * kind. Says so to the host when it begins. */
bool ar_server_is_strained(struct ar_http_server *s, int fd, bool is_kept);

/* From time to time, and before the first connection: the limit may be changed from outside while we
 * run. Says it to the host when a strain is over. */
void ar_server_look_at_descriptors(struct ar_http_server *s);

/* ---- h1/h1_request.c ---- */

void ar_h1_spares_fini(struct ar_http_server *s);

/* ---- listener.c ---- */

/* is_guarded: every caller has to authenticate. Without that and TLS only loopback is served. */
AR_MUST_USE enum ar_status ar_listener_open_tcp(struct ar_http_server *s, const char *address,
						bool is_guarded, struct ar_error *err);
AR_MUST_USE enum ar_status ar_listener_open_unix(struct ar_http_server *s, const char *path,
						 struct ar_error *err);
/* Where peers come in: any address with TLS between nodes, else loopback, where every
 * request has to show the key. */
AR_MUST_USE enum ar_status ar_listener_open_cluster(struct ar_http_server *s, const char *address,
						    struct ar_error *err);
/* Whether the address may be one of this node for others; `setting` is where it comes from. */
AR_MUST_USE enum ar_status ar_listener_check_cluster(const struct ar_http_server *s, const char *address,
						     const char *setting, struct ar_error *err);
/* A socket that listens already, given by the parent process; &s->tcp or &s->local by its family. Who
 * may reach a unix socket is the giver's business; TCP is held to the same rules as an address. */
AR_MUST_USE enum ar_status ar_listener_take(struct ar_http_server *s, struct ar_listener *l, int fd,
					    bool is_guarded, struct ar_error *err);
void ar_listener_close(struct ar_listener *l);

#endif
