/* The least that can answer HTTP on loopback: one thread, epoll, keep-alive, requests found by their blank line and
 * Content-Length, answers given as ready bytes. No parsing, no limits, no deadlines: only for benches, where it is the floor
 * and the model. */
#ifndef AR_BENCH_TINY_SERVER_H
#define AR_BENCH_TINY_SERVER_H

#include <stddef.h>

struct tiny_answer {
	const char *p; /* head and body; NULL: the request is left without an answer */
	size_t len;
};

typedef struct tiny_answer tiny_answer_fn(void *arg);

/* Prints {"port":N} and serves until it is killed. */
void tiny_serve(tiny_answer_fn *answer, void *arg);

#endif
