/* The other end of a seccomp filter that asks: every system call that comes is refused with EPERM and counted
 * by its kind. Only registers are looked at, so nothing that the process changes meanwhile can make the
 * record wrong. Owns no descriptor; the holder of the listener calls. */
#ifndef AR_LAUNCH_REFUSED_H
#define AR_LAUNCH_REFUSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AR_REFUSED_KINDS_MAX 64 /* further ones are counted together */
#define AR_REFUSED_TEXT_MAX 1024

struct ar_refused_kind {
	int nr;
	uint64_t key[3]; /* the arguments that tell one attempt from another */
	uint64_t count;
	bool is_closed; /* its last record is written: for the caller to set */
};

struct ar_refused {
	struct ar_refused_kind kinds[AR_REFUSED_KINDS_MAX];
	size_t count;
	uint64_t others; /* attempts of kinds that found no place */
};

enum ar_refused_state {
	AR_REFUSED_NONE, /* nobody waits now */
	AR_REFUSED_WAITS,
	/* Nobody is left under the filter: without closing, poll() would report it for ever */
	AR_REFUSED_OVER,
};

enum ar_refused_state ar_refused_poll(int listener);

/* Refuses the one that waits and counts it; *ret is its kind when it is the first of it, else NULL. False: it
 * was taken back. */
bool ar_refused_answer(struct ar_refused *r, int listener, struct ar_refused_kind **ret);

/* The detail of a violation: of one kind, or (NULL) of all that found no place. What snprintf() returns. */
int ar_refused_text(const struct ar_refused *r, const struct ar_refused_kind *k, bool is_last,
		    char out[AR_REFUSED_TEXT_MAX]);

#endif
