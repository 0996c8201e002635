/* The client side of the benches: nonblocking connections on one epoll, one request under way on each,
 * answers found by Content-Length, event streams handed on as they come. One thread owns everything. */
#ifndef AR_BENCH_CLIENT_H
#define AR_BENCH_CLIENT_H

#include "buf.h"

struct client_conn {
	int fd;
	size_t number; /* the caller's */
	bool is_stream; /* an event stream: bytes go to on_reply as they come, whole events at a time */
	struct ar_buf in, out;
	size_t sent;
	double started; /* microseconds, when the request was given */
};

/* A whole answer (head and body), or whole events of a stream. `text` is valid until it returns. */
typedef void client_reply_fn(struct client_conn *c, struct ar_str text, void *arg);

struct client {
	int epoll;
	unsigned port;
	client_reply_fn *on_reply;
	void *arg;
	bool is_over; /* set it to leave client_run() */
};

double client_now(void); /* monotonic, microseconds */
void client_open(struct client *cl, unsigned port, client_reply_fn *on_reply, void *arg);
struct client_conn *client_connect(struct client *cl, size_t number);

/* Sends a POST; the answer comes to on_reply. */
void client_post(struct client *cl, struct client_conn *c, const char *path, struct ar_str body);
void client_run(struct client *cl);

/* Reads the session's id out of an answer whose first line starts with `status`; another answer ends the
 * program. */
#define CLIENT_ID_ROOM 64
void client_read_session(const char *what, struct ar_str answer, const char *status, char id[CLIENT_ID_ROOM]);

/* Opens the stream of a session's events; `filter` is what else stands in the request, from its comma on. */
struct client_conn *client_follow(struct client *cl, size_t number, const char *id, const char *filter);

/* How often a word occurs. */
size_t client_count(struct ar_str text, struct ar_str word);

/* How many turns have ended in these events; one that failed ends the program. */
size_t client_count_ends(struct ar_str events);

/* The p-th of n sorted values; sorts them. */
double client_percentile(double *values, size_t n, double p);

/* Ends the program with a sentence. */
void client_die(const char *what, struct ar_str detail);

/* All lines of a file; *ret_count of them. */
struct ar_str *client_lines(const char *path, size_t *ret_count);

#endif
