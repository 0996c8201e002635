/* HTTP requests on a libuv loop: libcurl's multi_socket interface driven by uv_poll and uv_timer. Knows
 * nothing about what is asked; gives bytes and one end. Everything here belongs to the loop thread.
 *
 * One start sends at most one request: where libcurl would silently repeat it on a fresh connection, the
 * transfer ends as cut instead, so that attempts are counted right. Redirects are not followed,
 * only http and https are spoken, certificates are verified, and what is meant for this machine goes through
 * no proxy. */
#ifndef AR_CURL_TRANSFER_H
#define AR_CURL_TRANSFER_H

#include "list.h"
#include "str.h"

#include <curl/curl.h>
#include <uv.h>

enum ar_transfer_end {
	AR_TRANSFER_OPEN, /* has not ended */
	AR_TRANSFER_COMPLETE, /* the whole response came */
	AR_TRANSFER_UNREACHABLE, /* no request was sent */
	/* Nor here: this process or the machine has no file descriptor left for it */
	AR_TRANSFER_NO_DESCRIPTORS,
	AR_TRANSFER_CUT, /* the connection broke after the request was sent */
	AR_TRANSFER_NOT_HTTP, /* the peer speaks something else */
	AR_TRANSFER_TIMEOUT,
	AR_TRANSFER_TOO_LARGE,
	AR_TRANSFER_STOPPED, /* on_body returned false */
	AR_TRANSFER_CANCELLED,
};

/* How long each phase may last, in milliseconds. */
struct ar_transfer_limits {
	uint32_t connect_ms; /* until the request is sent, waiting for a free connection included */
	uint32_t first_byte_ms; /* from there to the first byte of the body */
	uint32_t idle_ms; /* between bytes of the body */
	uint32_t total_ms;
	uint64_t response_max; /* bytes of the body */
};

struct ar_transfer;

struct ar_transfer_vtable {
	/* Bytes of the body; status and headers can be asked for. False stops the transfer. */
	bool (*on_body)(struct ar_transfer *t, struct ar_str bytes);
	/* Exactly once, never before ar_transfer_start returned. Afterwards the memory is the caller's again.
	 * `why` is a sentence for a person, valid during the call. */
	void (*on_end)(struct ar_transfer *t, enum ar_transfer_end end, const char *why);
};

/* Embedded by the caller; the members below `limits` are private. */
struct ar_transfer {
	const struct ar_transfer_vtable *v;
	const char *url; /* these four are borrowed until on_end */
	const char *method; /* NULL: POST */
	struct curl_slist *headers;
	struct ar_str body; /* absent: none, which only another method than POST may have */
	/* NULL: every address may be dialled. Otherwise asked for each, when its name was looked up, what
	 * speaks against it; NULL: nothing. Then no proxy is used: it would dial in our place. */
	const char *(*fault_of)(const struct sockaddr *address);
	struct ar_transfer_limits limits;

	struct ar_transfer_pool *pool;
	struct ar_list node;
	CURL *easy;
	enum ar_transfer_end verdict;
	uint64_t deadline; /* of the current phase; all times in ms of uv_hrtime */
	uint64_t total_deadline;
	uint64_t received;
	size_t header_bytes;
	int socket_errno; /* why there is no socket for it */
	const char *address_fault; /* why its address was not dialled; NULL: it was, or was not looked up */
	const char *awaited; /* what the running deadline waits for */
	uint32_t awaited_ms;
	bool sent;
	bool has_head; /* all headers of the response came */
	char why[CURL_ERROR_SIZE]; /* of the verdict */
	char curl_why[CURL_ERROR_SIZE]; /* libcurl writes here, also after we decided */
};

struct ar_transfer_pool_options {
	bool tls; /* the peers are https: one HTTP/2 connection is shared by many transfers */
	const char *ca_file; /* NULL: the system's certificates; borrowed for the life of the pool */
	/* Most that are kept for later requests; 0: libcurl's four for each transfer */
	uint32_t kept_connections;
};

struct ar_transfer_pool;

AR_BEGIN_DECLS

struct ar_transfer_pool *ar_transfer_pool_new(uv_loop_t *loop, const struct ar_transfer_pool_options *o);

/* Ends what is open as cancelled (on_end is called before this returns). The memory goes when the loop has
 * run once more. Not to be called from inside on_body. */
void ar_transfer_pool_close(struct ar_transfer_pool *p);

/* May be called from any callback; the request leaves in the next turn of the loop. */
void ar_transfer_start(struct ar_transfer_pool *p, struct ar_transfer *t);

/* No on_body comes any more; on_end(CANCELLED) comes in the next turn of the loop. */
void ar_transfer_cancel(struct ar_transfer *t);

/* The caller has what it wants: the peer gets `ms` more to end the response (so that the connection can be
 * used again), then the transfer ends as timed out. Never lengthens a deadline. */
void ar_transfer_linger(struct ar_transfer *t, uint32_t ms);

/* Whether the request left: only then can the peer have done anything. */
bool ar_transfer_is_sent(const struct ar_transfer *t);

/* 0 before the status line came. */
int ar_transfer_status(const struct ar_transfer *t);

/* A response header, the first of that name; absent when there is none. Valid until the next call of this
 * function. */
struct ar_str ar_transfer_header(const struct ar_transfer *t, const char *name);

AR_END_DECLS

#endif
