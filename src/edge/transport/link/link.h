/* The bytes of one peer, both ways: a TCP connection, a unix socket, or a pair of pipes. Who speaks which
 * protocol over it is its owner's business, and the owner may change (an upgrade). In the clear nothing is
 * copied and nothing is queued: what the kernel does not take stays with the caller. Under TLS the owner sees
 * plain text only. Owner: the loop thread. */
#ifndef AR_TRANSPORT_LINK_H
#define AR_TRANSPORT_LINK_H

#include "carrier.h"
#include "deadline.h"

#include <uv.h>

#define AR_READ_BUFFER (64 * 1024)

union ar_stream_handle {
	uv_handle_t handle;
	uv_stream_t stream;
	uv_tcp_t tcp;
	uv_pipe_t pipe;
};

struct ar_byte_link;
struct ar_listener;

/* Callbacks of the owner. */
struct ar_byte_link_vtable {
	void (*bytes)(struct ar_byte_link *l,
		      struct ar_str bytes); /* borrowed until it returns; never empty */
	void (*lost)(struct ar_byte_link *l); /* the peer has ended or the connection broke: close it */
	void (*closed)(
		struct ar_byte_link *l); /* after ar_byte_link_close, once: ar_byte_link_free may follow */
	void (*drain)(struct ar_byte_link *l); /* the server stops: finish and close */
	void (*abort)(struct ar_byte_link *l); /* the server closes: close now */
};

/* status: 0, or an error of libuv; also when the link was closed meanwhile, then before closed(). */
typedef void ar_byte_link_written_fn(struct ar_byte_link *l, int status);

struct ar_byte_link {
	union ar_stream_handle u; /* both ways, or only out when there is `in` */
	struct ar_http_server *server;
	const struct ar_byte_link_vtable *v; /* of the owner */
	void *owner;
	struct ar_source source;
	struct ar_deadline deadline; /* the owner's to use */
	const char *why; /* in lost(): what failed in TLS; NULL: nothing there */
	bool has_ended; /* in lost(): the peer has said all; under TLS it has also said that this is all */

	struct ar_list node; /* private from here on: in server->links */
	uv_pipe_t *in; /* where reading is another pipe than writing */
	struct ar_byte_link_write *write; /* in flight */
	struct ar_tls *tls; /* NULL: in the clear */
	void (*secured)(struct ar_byte_link *l); /* of ar_byte_link_secure */
	struct ar_address_slots *address; /* among those of its address; NULL: not counted there */
	bool has_slot; /* among those of its kind */
	unsigned char open_handles;
	bool is_closing;
	bool is_outgoing; /* we made the connection, to another node */
};

/* Takes a connection from the listener and gives it to the protocol; over the cap it is answered 503 and
 * closed. */
void ar_byte_link_accept(struct ar_listener *listener);

/* A link of two pipes (or other descriptors that can be polled), which it owns from now on. NULL when they
 * cannot be used; they are closed then. */
struct ar_byte_link *ar_byte_link_new_pair(struct ar_http_server *s, int in, int out);

/* A TCP connection to another node that is not connected yet: its owner connects u.tcp. The server neither
 * counts nor drains it. */
struct ar_byte_link *ar_byte_link_new_outgoing(struct ar_http_server *s, const struct ar_byte_link_vtable *v,
					       void *owner);

/* Begins TLS on a connected outgoing link; the other end has to prove that it is the node at `host`. Then
 * secured() comes, or lost(). */
void ar_byte_link_secure(struct ar_byte_link *l, struct ar_str host, void (*secured)(struct ar_byte_link *l));

/* False when the certificates were replaced since the connection began. */
bool ar_byte_link_is_current(const struct ar_byte_link *l);

/* A new owner. Nothing is read until ar_byte_link_read_start. */
void ar_byte_link_own(struct ar_byte_link *l, const struct ar_byte_link_vtable *v, void *owner);

void ar_byte_link_set_deadline(struct ar_byte_link *l, enum ar_deadline_kind kind);

/* Harmless when it reads (or does not) already. False: it cannot be read, and is to be closed. */
AR_MUST_USE bool ar_byte_link_read_start(struct ar_byte_link *l);
void ar_byte_link_read_stop(struct ar_byte_link *l);

/* How many bytes were taken; UV_EAGAIN when none can be now; another error when the connection is broken. Not
 * while a write is in flight. */
AR_MUST_USE int ar_byte_link_try_write(struct ar_byte_link *l, const uv_buf_t *bufs, unsigned count);

/* Writes all of it as the peer reads; one at a time. The bytes stay the caller's until `done`. Not 0: it
 * failed at once, done() does not come. */
AR_MUST_USE int ar_byte_link_write(struct ar_byte_link *l, const uv_buf_t *bufs, unsigned count,
				   ar_byte_link_written_fn *done);

/* Nothing more will be written: the peer sees the end. False: the connection is broken. */
AR_MUST_USE bool ar_byte_link_shutdown(struct ar_byte_link *l);

/* False while bytes that were taken still wait for the peer to read (they may, under TLS). */
bool ar_byte_link_is_flushed(const struct ar_byte_link *l);

/* How much the kernel keeps of what the peer does not read. */
void ar_byte_link_set_send_buffer(struct ar_byte_link *l, int bytes);

/* Closes at once; closed() follows. Harmless when closed. */
void ar_byte_link_close(struct ar_byte_link *l);

/* After closed(), when the owner needs it no more. */
void ar_byte_link_free(struct ar_byte_link *l);

#endif
