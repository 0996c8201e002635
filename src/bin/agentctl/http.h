/* One HTTP request at a time through libcurl, over TCP or a unix socket: a whole reply, or a stream that goes
 * to a sink as it comes. Knows nothing of our API. Runs on the only thread and blocks; a signal descriptor
 * can end the wait. */
#ifndef AR_CTL_HTTP_H
#define AR_CTL_HTTP_H

#include "buf.h"
#include "status.h"

struct ar_http_request {
	const char *url;
	const char *socket; /* path of the unix socket; NULL = TCP to the host of the url */
	bool is_local; /* the environment's proxy is not for it; it never is for addresses of this machine */
	const char *cacert; /* PEM file that https is verified by; NULL = SSL_CERT_FILE or the system's */
	const char *bearer; /* sent as Authorization; NULL = none */
	const char *headers[2]; /* whole lines; NULL = none */
	struct ar_str body; /* JSON to POST; absent = GET */
	long connect_ms; /* 0 = 5 s */
	long total_ms; /* 0 = no end: a stream */
	int64_t idle_ms; /* longest time without a byte, heartbeats counted; 0 = no limit */
	/* Takes the body of a 200 piece by piece; false ends the request. NULL: it is gathered in the
	 * reply. */
	bool (*sink)(void *arg, struct ar_str bytes);
	int signal_fd; /* -1 = none */
	bool (*interrupted)(void *arg); /* a signal waits in signal_fd; false ends the request */
	/* Before each wait: does what is due and names a descriptor to watch too (-1 = none); false ends the
	 * request. NULL: none. */
	bool (*rest)(void *arg, int *ret_fd);
	bool (*readable)(void *arg); /* that descriptor has something; false ends the request */
	void *arg;
};

struct ar_http_reply {
	long status; /* HTTP status, 0 when there was none */
	struct ar_buf body;
};

/* AR_OK: a whole reply of any status. AR_E_UNAVAILABLE: nobody answers there. AR_E_IO: broken off.
 * AR_E_TIMEOUT, AR_E_LIMIT (over 64 MiB). AR_E_CANCELED: a callback said so. The reply is the caller's to
 * free. */
AR_MUST_USE enum ar_status ar_http_run(const struct ar_http_request *r, struct ar_http_reply *ret,
				       struct ar_error *err);

/* ---- several at once ---- */

/* Requests that run side by side, for a program that follows several streams. owner: one thread */
struct ar_http_set;
struct ar_http_transfer;

struct ar_http_set *ar_http_set_new(void);
void ar_http_set_free(struct ar_http_set *s); /* cancels what runs */

/* The end of a transfer, as ar_http_run would return it. The reply is freed afterwards. */
typedef void ar_http_done_fn(void *arg, enum ar_status st, const struct ar_http_reply *reply,
			     const struct ar_error *err);

/* The request without its signal, rest and readable. Its sink and `done` are called by ar_http_set_wait with
 * the request's arg; `done` once, and not after a cancel. */
struct ar_http_transfer *ar_http_start(struct ar_http_set *s, const struct ar_http_request *r,
				       ar_http_done_fn *done);

/* Not from inside a sink. */
void ar_http_cancel(struct ar_http_transfer *t);

#define AR_HTTP_WATCHES 128

/* A descriptor to watch meanwhile, and whether it has something. */
struct ar_http_watch {
	int fd;
	bool is_readable;
};

/* Waits at most that long for bytes of a transfer or on one of at most AR_HTTP_WATCHES descriptors, and does
 * what is due. */
void ar_http_set_wait(struct ar_http_set *s, struct ar_http_watch *watches, size_t count, int ms);

#endif
