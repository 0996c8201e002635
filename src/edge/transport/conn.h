/* The objects of the transport and how they hang together: a server has listeners and connections; a
 * connection has an exchange while a request is read or answered, a stream once it follows events, and a forward
 * while another node answers. Owner: the loop thread. */
#ifndef AR_TRANSPORT_CONN_H
#define AR_TRANSPORT_CONN_H

#include "control.h"
#include "deadline.h"
#include "h1_codec.h"
#include "list.h"
#include "peer_link.h"
#include "router.h"
#include "transport.h"

#define AR_READ_BUFFER (64 * 1024)

union ar_stream_handle {
	uv_handle_t handle;
	uv_stream_t stream;
	uv_tcp_t tcp;
	uv_pipe_t pipe;
};

struct ar_listener {
	union ar_stream_handle u;
	struct ar_http_server *server;
	bool is_unix;
	bool is_peer; /* other nodes of the cluster come in here */
	bool is_open;
};

struct ar_http_server {
	uv_loop_t *loop;
	struct ar_control *control;
	struct ar_h1_limits limits;
	uint32_t max_connections;
	uint32_t max_subscribers;
	struct ar_http_counters counters;
	struct ar_listener tcp, local, cluster;
	struct ar_http_ops ops;
	struct ar_peers peers;
	uv_timer_t sweep;
	uv_timer_t settle;
	struct ar_list settling; /* exchanges that wait for an owner, in order of their next try */
	uint32_t settle_ms;
	uv_prepare_t flush;
	uv_idle_t
		awake; /* active while streams wait for the flush, so that the loop does not sleep before it */
	struct ar_deadlines deadlines;
	struct ar_list conns;
	struct ar_list streams; /* those that have something to write */
	struct ar_json_parser *parser;
	char *read_buffer; /* one for all: what is read is consumed or copied before the next read */
	unsigned handles; /* open handles of the server itself */
	bool is_draining;
	bool is_closing;
	ar_http_closed_fn *closed;
	void *closed_arg;
};

enum ar_conn_state {
	AR_CONN_IDLE, /* no request */
	AR_CONN_READING, /* a request is coming in */
	AR_CONN_ANSWERING, /* the core works on it, or the reply is being written; not reading */
	AR_CONN_STREAMING, /* events go out; what comes in is dropped */
	AR_CONN_LINGERING, /* we have said all; what comes in is dropped until the peer closes */
	AR_CONN_CLOSED,
};

struct ar_conn {
	union ar_stream_handle u;
	struct ar_http_server *server;
	struct ar_list node;
	struct ar_deadline deadline;
	struct ar_exchange *x;
	struct ar_sse *sse;
	struct ar_forward *forward;
	struct ar_buf pending; /* pipelined bytes that came in behind a request that is being answered */
	enum ar_conn_state state;
	bool is_unix;
	bool is_peer;
	bool is_pumping; /* the parse loop is on the stack */
	bool is_released; /* the handle is closed; the rest waits for the core's answer */
};

struct ar_reply {
	int status;
	struct ar_str body; /* JSON; lives in the exchange */
	const char *allow; /* for 405 */
	bool is_close;
	char head[320];
	size_t head_len;
};

struct ar_exchange {
	struct ar_conn *conn;
	struct ar_h1 h1;
	struct ar_target target;
	const struct ar_command_desc *command;
	struct ar_str body; /* JSON input of the command */
	uint64_t arrived; /* milliseconds */
	uint64_t retry_at;
	struct ar_list settle; /* in server->settling while it waits for an owner */
	struct ar_call call;
	struct ar_buf input; /* JSON made from path and query */
	struct ar_buf text; /* reply that we made ourselves */
	struct ar_reply reply;
	uv_write_t write;
	bool is_calling;
};

/* ---- conn.c ---- */

/* Takes a connection from the listener; over the cap it is answered 503 and closed. */
void ar_conn_accept(struct ar_listener *l);

/* Starts to send x->reply of the connection; then comes the next request, or the end. */
void ar_conn_reply(struct ar_conn *c);

/* Nothing more will be written: sends FIN and waits a little for the peer's, so that our last bytes are not
 * lost. */
void ar_conn_linger(struct ar_conn *c);

/* Closes at once; memory goes when the handle is closed and no call is in flight. Harmless when closed. */
void ar_conn_close(struct ar_conn *c);

/* The core has answered a connection that was closed meanwhile: frees it if nothing else holds it. */
void ar_conn_release(struct ar_conn *c);

/* What a passed deadline means for its connection. */
void ar_conn_expire(struct ar_conn *c, enum ar_deadline_kind kind);

/* Deadlines and reading, for the parts of a connection. */
void ar_conn_set_deadline(struct ar_conn *c, enum ar_deadline_kind kind);
void ar_conn_read_start(struct ar_conn *c);
void ar_conn_drop_exchange(struct ar_conn *c);

/* ---- exchange.c ---- */

struct ar_exchange *ar_exchange_new(struct ar_conn *c);
void ar_exchange_free(struct ar_exchange *x);

/* The head is there: checks where it comes from and answers an Expect. False: a refusal was sent. */
bool ar_exchange_check(struct ar_exchange *x);

/* The request is there: routes it and starts the call or the stream. The answer may be sent before this
 * returns. */
void ar_exchange_run(struct ar_exchange *x);

/* Hands the body to the verification of sessions; answered as a call is. */
void ar_exchange_verify(struct ar_exchange *x);

/* Gives the command to the core, also again after it has said that the session's place is not settled. */
void ar_exchange_start(struct ar_exchange *x);

/* Answers with a JSON text that lives in the exchange, and keeps the connection if it can. */
void ar_exchange_answer(struct ar_exchange *x, int status, struct ar_str body);

/* Answers with an error of the catalogue under another HTTP status if that is not 0, and keeps the connection
 * if it can. */
void ar_exchange_refuse(struct ar_exchange *x, uint16_t code, const char *message, int status);

/* Refuses a broken request; the connection ends. */
void ar_exchange_fault(struct ar_exchange *x, const struct ar_h1_fault *f);

/* ---- reply.c ---- */

/* Writes status line and headers into r->head. */
void ar_reply_format(struct ar_reply *r);

/* ---- sse.c ---- */

/* Subscribes with the input of x and turns the connection of x into a stream; a refusal is answered as
 * JSON. */
void ar_sse_open(struct ar_exchange *x);
void ar_sse_heartbeat(struct ar_sse *s);
void ar_sse_drain(struct ar_sse *s);

/* Makes a stream of a connection, which from here on holds nothing else; *ret_head is what it begins with. False:
 * it is closed. */
bool ar_sse_begin(struct ar_conn *c, struct ar_str *ret_head);

/* The connection closes: no callback any more. The memory stays until ar_sse_free. */
void ar_sse_stop(struct ar_sse *s);
void ar_sse_free(struct ar_sse *s);

/* Writes what the waiting streams have, once per turn of the loop. */
void ar_sse_flush(struct ar_http_server *s);

/* ---- ops.c ---- */

/* Answers a route that is no command. */
void ar_ops_answer(struct ar_exchange *x, enum ar_route_kind kind);

/* ---- listener.c ---- */

AR_MUST_USE enum ar_status ar_listener_open_tcp(struct ar_http_server *s, const char *address,
						struct ar_error *err);
AR_MUST_USE enum ar_status ar_listener_open_unix(struct ar_http_server *s, const char *path,
						 struct ar_error *err);
/* Where peers come in: any address, since every request there has to show the key. */
AR_MUST_USE enum ar_status ar_listener_open_cluster(struct ar_http_server *s, const char *address,
						    struct ar_error *err);
void ar_listener_close(struct ar_listener *l);

/* ---- server.c ---- */

/* A connection or handle is gone; finishes the close when it was the last. */
void ar_server_check_closed(struct ar_http_server *s);

#endif
