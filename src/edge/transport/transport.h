/* HTTP/1.1, HTTP/2 + server-sent events over TCP (in the clear on loopback, or TLS 1.3) and a unix
 * socket: every command of the catalogue as POST /v1/<name>, its GET routes, and the event stream; the
 * same as JSON-RPC 2.0 over WebSocket and on two pipes. Decides nothing: requests go to core/control,
 * streams come from core/eventlog. What another node owns is passed on to that node, whose requests
 * come in at an address for peers alone.
 *
 * Everything runs on the thread of the given loop, which also owns every object here. */
#ifndef AR_TRANSPORT_TRANSPORT_H
#define AR_TRANSPORT_TRANSPORT_H

#include "catalog.h"
#include "buf.h"
#include "status.h"

#include <uv.h>

struct ar_arena;
struct ar_a2a_published;
struct ar_control;
struct ar_auth;
struct ar_principal;
struct ar_http_server;
struct ar_link;

/* An answer that goes out, or the beginning of a stream, for the log. Text is borrowed until the call
 * returns; absent where there is none. */
struct ar_http_answered {
	struct ar_str request_id;
	struct ar_str method, path; /* without the query */
	struct ar_str command, code; /* names of the catalogue */
	struct ar_str session, queued_turn, tenant, actor;
	struct ar_str ids[AR_SCOPE_COUNT]; /* that the answer or the input names; most are absent */
	const char *via; /* tcp, unix, peer */
	int status;
	uint64_t micros; /* since the request was there */
	size_t bytes; /* of the body */
};

/* A request to a trigger as it came; text is borrowed until the call returns, absent where there is none. */
struct ar_http_trigger {
	struct ar_str name, body;
	struct ar_str bearer, gitlab_token; /* what was shown */
	struct ar_str webhook_id, webhook_timestamp, webhook_signature; /* of Standard Webhooks */
	struct ar_str hub_signature, hub_delivery, idempotency_key;
};

/* What it becomes: submit_turn or create_job, its input, and for whom. Text in the arena that was given. */
struct ar_http_triggered {
	const struct ar_principal *who;
	enum ar_command command;
	struct ar_str input;
};

/* What a remote agent posts about work that is with it, as it came. Text is borrowed until the call
 * returns. */
struct ar_http_peer_push {
	struct ar_str operation, body;
	struct ar_str token, bearer; /* what was shown; absent: nothing */
	bool is_from_node; /* another node of the cluster has judged who sent it */
};

/* What the host knows and answers about the server as a whole; each may be NULL. */
struct ar_http_ops {
	void (*nodes)(void *arg, struct ar_buf *out); /* writes the JSON of GET /v1/nodes */
	void (*drain)(void *arg); /* POST /v1/nodes/drain */
	bool (*is_ready)(void *arg, struct ar_str *ret_why); /* GET /ready; false with the reason */
	bool (*is_store_out)(void *arg); /* the store cannot be reached, or takes no writes */
	void (*metrics)(void *arg, struct ar_buf *out); /* writes the text of GET /metrics */
	void (*answered)(void *arg, const struct ar_http_answered *a);
	int answered_from; /* the lowest HTTP status that is reported */
	/* Connections are turned away for want of descriptors from now on, or no longer. */
	void (*strained)(void *arg, bool is_strained);
	/* Asked as a large body goes on coming in, with the bytes that came: whether memory is short.
	 * Then it is refused; NULL: it never is. */
	bool (*is_short)(void *arg, size_t bytes);
	void (*notice)(void *arg, bool is_bad, const char *text); /* something for the log */
	/* POST /v1/triggers/NAME: AR_E_REFUSED with a code of the catalogue when it starts nothing */
	enum ar_status (*trigger)(void *arg, const struct ar_http_trigger *t, struct ar_arena *a,
				  struct ar_http_triggered *ret, struct ar_error *err);
	/* POST /v1/peers/OPERATION/push: AR_E_REFUSED with a code of the catalogue when it is not taken */
	enum ar_status (*peer_push)(void *arg, const struct ar_http_peer_push *p, struct ar_error *err);
	const struct ar_a2a_published *a2a; /* agents for other systems; NULL: none */
	void *arg;
};

/* One peer of JSON-RPC on two descriptors that can be polled, one message per line. */
struct ar_stdio_options {
	int in, out; /* the server's from now on */
	void (*ended)(void *arg); /* once: the peer has said all, or nobody reads any more */
	void *arg;
};

/* Who is at the other end of a worker's link, by its token. Text is borrowed until the call returns. */
struct ar_http_worker {
	struct ar_str id, tenant;
};

/* Who takes the links of workers (port/link.h). take() owns the link and sets its callbacks; NULL: workers
 * are not served. */
struct ar_http_workers {
	void (*take)(void *arg, const struct ar_http_worker *who, struct ar_link *link);
	/* May be NULL. The address that workers have for this node; absent: it has none. */
	struct ar_str (*node)(void *arg);
	void *arg;
};

/* Mutual TLS between nodes; all NULL or empty = none. */
struct ar_http_cluster_tls {
	const char *certificate; /* PEM file with the chain, for client and server */
	const char *key; /* PEM file */
	const char *ca; /* PEM file: who signs the certificates of nodes */
	/* DNS name that the certificate of every node has; NULL or empty = each names
	 * the IP address of its node. */
	const char *name;
};

/* Zero takes the default in brackets. Times are in milliseconds; each is an absolute deadline, not an idle
 * timer. */
struct ar_http_options {
	struct ar_control *control;
	bool is_embedded; /* it may serve local calls alone, and SIGPIPE is the owner's matter */
	struct ar_auth *auth; /* asked about every request; NULL: every caller is the operator */
	/* sockets that listen already, instead of listen and socket_path; 0 = none. Taken over. */
	int listen_fd, socket_fd;
	/* "127.0.0.1:7717", "[::1]:0"; NULL = no TCP. An address that is not loopback
	 * needs TLS and is_guarded. */
	const char *listen;
	bool is_guarded; /* nobody is answered who has not shown who it is */
	const char *tls_certificate; /* PEM file with the chain; NULL or empty = `listen` is in the clear */
	const char *tls_key; /* PEM file; required with tls_certificate */
	/* PEM file: client certificates of it are asked for; NULL or empty = none */
	const char *tls_client_ca;
	/* names of this server beside those of this machine and of the certificate, blanks or commas
	 * between them; NULL = none */
	const char *hosts;
	const char *origins; /* whose pages may ask and read answers, the same way; NULL = none but our own */
	const char *socket_path; /* NULL = no unix socket. Mode 0600, in a directory of ours of mode 0700. */
	/* where other nodes reach us, "10.0.0.1:7718"; NULL = none. An address that is not
	 * loopback needs cluster_tls. */
	const char *cluster_listen;
	/* the address for other nodes instead; NULL or empty = cluster_listen */
	const char *cluster_advertise;
	/* text that nodes of one machine show each other, not sent with cluster_tls; NULL = no cluster */
	const char *peer_key;
	struct ar_http_cluster_tls cluster_tls;
	const struct ar_stdio_options *stdio; /* NULL = none; copied */
	struct ar_http_workers workers;
	const struct ar_http_ops *ops; /* copied; NULL: no cluster, ready while not draining */
	size_t max_body_bytes; /* [4 MiB] */
	size_t max_header_bytes; /* request line and headers [16 KiB] */
	/* some of them are kept for socket_path and cluster_listen, where there are any [10000] */
	uint32_t max_connections;
	/* of one address over TCP, but for the server's own user on loopback; 0 = as many as there are */
	uint32_t max_address_connections;
	size_t kept_descriptors; /* for model calls, beside those that are kept for the store and tools */
	uint32_t max_subscribers; /* event streams among them [8000] */
	uint32_t header_ms; /* first byte to the end of the headers [10 s] */
	uint32_t body_ms; /* end of the headers to the end of the body [30 s] */
	uint32_t write_ms; /* one reply, or one batch of events [30 s] */
	uint32_t keepalive_ms; /* idle between two requests [75 s] */
	uint32_t heartbeat_ms; /* silence on a stream before a comment is sent; a peer's stream that is silent
				* three times as long is lost [15 s] */
	/* after as long a silence a WebSocket is asked whether it is there; its answer is due in [20 s] */
	uint32_t pong_ms;
	uint32_t peer_connect_ms; /* [1 s] */
	uint32_t peer_reply_ms; /* a whole command at a peer, or the beginning of its stream [30 s] */
	uint32_t settle_ms; /* how long a request waits for its session to have an owner [5 s] */
};

struct ar_http_counters {
	uint64_t accepted; /* connections taken */
	uint64_t turned_away; /* connections answered 503 at the cap */
	uint64_t no_descriptors; /* connections answered 503 because few descriptors are left */
	uint64_t requests; /* complete requests */
	uint64_t refused; /* requests that broke the protocol, a cap or the loopback rules */
	uint64_t timeouts; /* connections ended by a deadline (idle keep-alive not counted) */
	uint64_t tls_failed; /* handshakes that came to nothing, deadlines not counted */
	uint64_t h2_connections; /* that spoke HTTP/2 */
	uint64_t h2_bytes; /* all bytes of them, frames and heads too; bytes_sent has the bodies */
	uint64_t tls_reloads; /* times that new certificates were taken */
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

/* The node at this address is gone: streams from it end with a `retry:` line, and what it was asked is
 * answered with owner_unreachable, as if the connections had broken. */
void ar_http_server_lose_peer(struct ar_http_server *s, struct ar_str address);

/* The ar_control_carry_fn: takes a note for a home session to the node at that address. */
bool ar_http_server_tell(void *server, struct ar_str address, struct ar_str note);

/* The ar_control_pass_fn: takes a command of a session to the node at that address. */
struct ar_passed_call;
bool ar_http_server_pass(void *server, struct ar_passed_call *call);

/* Reads the certificate files again; connections keep what they began with. They are also looked at
 * every few seconds. What came of it is a notice. */
void ar_http_server_reload(struct ar_http_server *s);

/* Stops accepting, closes idle connections, ends streams with a `retry:` line; requests under way are
 * finished and answered with Connection: close. Over when counters.connections is 0. /ready answers 503 from
 * now on. */
void ar_http_server_drain(struct ar_http_server *s);

/* Closes everything at once. cb(arg) comes when the last call in flight was answered by the core and the
 * server's memory is gone; cb may be NULL. */
void ar_http_server_close(struct ar_http_server *s, ar_http_closed_fn *cb, void *arg);

const struct ar_http_counters *ar_http_server_counters(const struct ar_http_server *s);

#endif
