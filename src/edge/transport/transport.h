/* HTTP/1.1 + server-sent events over loopback TCP and a unix socket: every command of the catalogue as POST
 * /v1/<name>, its GET routes, and the event stream. Decides nothing: requests go to core/control, streams
 * come from core/eventlog. What another node owns is passed on to that node, whose requests come in at an address
 * for peers alone.
 *
 * Everything runs on the thread of the given loop, which also owns every object here. */
#ifndef AR_TRANSPORT_TRANSPORT_H
#define AR_TRANSPORT_TRANSPORT_H

#include "buf.h"
#include "status.h"

#include <uv.h>

struct ar_control;
struct ar_http_server;

/* What the host knows and answers about the server as a whole; each may be NULL. */
struct ar_http_ops {
	void (*nodes)(void *arg, struct ar_buf *out); /* writes the JSON of GET /v1/nodes */
	void (*drain)(void *arg); /* POST /v1/nodes/drain */
	bool (*is_ready)(void *arg, struct ar_str *ret_why); /* GET /ready; false with the reason */
	void *arg;
};

/* Zero takes the default in brackets. Times are in milliseconds; each is an absolute deadline, not an idle
 * timer. */
struct ar_http_options {
	struct ar_control *control;
	const char *listen; /* "127.0.0.1:7717", "[::1]:0"; NULL = no TCP. Only loopback is accepted. */
	const char *socket_path; /* NULL = no unix socket. Mode 0600, in a directory of ours of mode 0700. */
	const char
		*cluster_listen; /* where other nodes reach us, "10.0.0.1:7718", any address; NULL = none */
	const char *peer_key; /* text that nodes show each other; required with cluster_listen */
	const struct ar_http_ops *ops; /* copied; NULL: no cluster, ready while not draining */
	size_t max_body_bytes; /* [4 MiB] */
	size_t max_header_bytes; /* request line and headers [16 KiB] */
	uint32_t max_connections; /* [10000] */
	uint32_t max_subscribers; /* event streams among them [8000] */
	uint32_t header_ms; /* first byte to the end of the headers [10 s] */
	uint32_t body_ms; /* end of the headers to the end of the body [30 s] */
	uint32_t write_ms; /* one reply, or one batch of events [30 s] */
	uint32_t keepalive_ms; /* idle between two requests [75 s] */
	uint32_t heartbeat_ms; /* silence on a stream before a comment is sent; a peer's stream that is silent
				* three times as long is lost [15 s] */
	uint32_t peer_connect_ms; /* [1 s] */
	uint32_t peer_reply_ms; /* a whole command at a peer, or the beginning of its stream [30 s] */
	uint32_t settle_ms; /* how long a request waits for its session to have an owner [5 s] */
};

struct ar_http_counters {
	uint64_t accepted; /* connections taken */
	uint64_t turned_away; /* connections answered 503 at the cap */
	uint64_t requests; /* complete requests */
	uint64_t refused; /* requests that broke the protocol, a cap or the loopback rules */
	uint64_t timeouts; /* connections ended by a deadline (idle keep-alive not counted) */
	uint64_t streams; /* event streams opened */
	uint64_t streams_cut; /* of those, ended by the write deadline */
	uint64_t frames; /* events given to sockets */
	uint64_t bytes_sent; /* all bytes given to sockets */
	uint64_t forwarded; /* requests that a peer answered, streams that it opened */
	uint64_t forward_failed; /* of requests and streams: no answer, no owner, or lost on the way */
	uint32_t settling; /* requests that wait for an owner now */
	uint32_t connections; /* open now */
	uint32_t subscribers; /* open event streams now */
};

typedef void ar_http_closed_fn(void *arg);

/* Starts to serve. On failure nothing is left to the caller, but the loop has to run once more to release the
 * handles. SIGPIPE is set to be ignored if the program left it at its default. A missing
 * directory of the socket is made, a socket that a dead process left is replaced. AR_E_INVALID: an address or
 * path that we do not serve; AR_E_EXISTS: another process serves it; AR_E_IO. */
AR_MUST_USE enum ar_status ar_http_server_open(uv_loop_t *loop, const struct ar_http_options *o,
					       struct ar_http_server **ret, struct ar_error *err);

/* The TCP port in use (the real one when :0 was asked); 0 without TCP. */
uint16_t ar_http_server_port(const struct ar_http_server *s);

/* The same of the address for peers. */
uint16_t ar_http_server_cluster_port(const struct ar_http_server *s);

/* The node at this address is gone: streams from it end with a `retry:` line, and what it was asked is answered with
 * owner_unreachable, as if the connections had broken. */
void ar_http_server_lose_peer(struct ar_http_server *s, struct ar_str address);

/* Stops accepting, closes idle connections, ends streams with a `retry:` line; requests under way are
 * finished and answered with Connection: close. Over when counters.connections is 0. /ready answers 503 from
 * now on. */
void ar_http_server_drain(struct ar_http_server *s);

/* Closes everything at once. cb(arg) comes when the last call in flight was answered by the core and the
 * server's memory is gone; cb may be NULL. */
void ar_http_server_close(struct ar_http_server *s, ar_http_closed_fn *cb, void *arg);

const struct ar_http_counters *ar_http_server_counters(const struct ar_http_server *s);

#endif
