/* The least that can answer HTTP on loopback: one thread, epoll, keep-alive, requests found by their blank
 * line and Content-Length, answers given as ready bytes, at once or piece by piece. No parsing, no limits, no
 * deadlines: only for benches, where it is the floor and the model. */
#ifndef AR_BENCH_TINY_SERVER_H
#define AR_BENCH_TINY_SERVER_H

#include <stdbool.h>
#include <stddef.h>

struct tiny_answer {
	const char *p; /* head and body; NULL: the request is left without an answer */
	size_t len;
	bool is_stream; /* HTTP chunks that each end a server-sent event: one send() for each */
	unsigned pause_ms; /* before each of them; 0: none */
};

/* `request` is head and body. What is returned is valid until the next call. */
typedef struct tiny_answer tiny_answer_fn(void *arg, const char *request, size_t len);

/* Prints {"port":N} and serves until it is killed. */
void tiny_serve(tiny_answer_fn *answer, void *arg);

#endif
