/* Many readers of one stream, in HTTP/1, in the clear or over TLS, or over WebSocket (a connection each) or
 * HTTP/2 (a hundred streams per connection): who counts what came is the same for all. Only for benches. */
#ifndef AR_BENCH_FANOUT_H
#define AR_BENCH_FANOUT_H

#include <stdbool.h>
#include <stddef.h>

/* One reader: how many events it has, and how much of the mark of an event the last bytes were. */
struct reader {
	int fd; /* HTTP/1 */
	void *tls; /* over TLS */
	unsigned events;
	unsigned matched;
	bool is_stuck; /* it stops to read once it is there */
	/* WebSocket: the head of the frame that comes now, how much of it is there, and how much of its
	 * payload is missing. */
	unsigned char head[10];
	unsigned has_head;
	unsigned long long payload;
};

struct fanout {
	unsigned port;
	const char *path;
	const char *mark; /* what every event has once: "\ndata:" in a stream */
	struct reader *readers;
	size_t count, stuck;
	bool is_tls, is_ws;
	int epoll;
	unsigned long long delivered; /* events of those that read */
	unsigned long long bytes;
};

void fanout_take(struct fanout *f, struct reader *r, const char *p, size_t len);
int fanout_connect(unsigned port); /* blocking; ends the program when it cannot */
void fanout_die(const char *what);

/* ---- fanout_ws.c ---- */

#define FANOUT_WS_MARK "\"method\":\"event\""

/* Opens the reader's WebSocket and subscribes to the session that f->path names. */
void fanout_ws_open(const struct fanout *f, struct reader *r);

/* Answers each ping among the bytes that came: a reader that does not is ended by the server. */
void fanout_ws_answer(struct reader *r, const char *p, size_t len);

/* ---- fanout_tls.c ---- */

void *fanout_tls_open(int fd); /* the handshake; blocking, ends the program when it fails */
bool fanout_tls_send(void *tls, const char *text, size_t len);
int fanout_tls_recv(void *tls, char *text, size_t room); /* 0: nothing is there now; -1: it is over */

/* ---- fanout_h2.c ---- */

void fanout_h2_open(struct fanout *f);
void fanout_h2_read(struct fanout *f, void *connection); /* what epoll found */

#endif
