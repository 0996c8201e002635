/* What is waited for in one round: descriptors with what to call, and the nearest deadline. Rebuilt every
 * round from the state of the parts, so that nothing has to be taken back. */
#ifndef AR_SHIM_LOOP_H
#define AR_SHIM_LOOP_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#define AR_LOOP_MAX 16

struct ar_shim;

typedef void ar_loop_fn(struct ar_shim *s, int arg);

struct ar_loop {
	struct pollfd fds[AR_LOOP_MAX];
	struct {
		ar_loop_fn *on;
		int arg;
	} calls[AR_LOOP_MAX];
	size_t count;
	uint64_t until; /* 0: no deadline */
};

void ar_loop_watch(struct ar_loop *l, int fd, short events, ar_loop_fn *on, int arg);
void ar_loop_until(struct ar_loop *l, uint64_t at); /* wake at this moment at the latest; 0: says nothing */
void ar_loop_run_once(struct ar_loop *l, struct ar_shim *s);

#endif
