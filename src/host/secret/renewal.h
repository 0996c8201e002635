/* Keeps the values of references new while the runtime runs: each is asked for again when its time is
 * over, and all of them on SIGHUP. A worker thread of libuv does the asking, one round at a time, so
 * the loop never waits. A value that cannot be had leaves the last one in use. Owner: loop thread. */
#ifndef AR_HOST_SECRET_RENEWAL_H
#define AR_HOST_SECRET_RENEWAL_H

#include "log.h"
#include "secret/resolve.h"

#include <uv.h>

struct ar_secret_renewal;

struct ar_secret_renewal_options {
	struct ar_secret_refs *refs; /* with their values; borrowed */
	const struct ar_config *read; /* the settings that the references were read into, */
	struct ar_config *in_force; /* and the copy of them that is in use */
	const struct ar_log *log;
	struct ar_redactor *redactor; /* learns every value before it is used; borrowed */
};

/* Masks what is known by now. */
struct ar_secret_renewal *ar_secret_renewal_open(uv_loop_t *loop, const struct ar_secret_renewal_options *o);

/* All of them now, or after the round that is under way. NULL: nothing. */
void ar_secret_renewal_ask(struct ar_secret_renewal *r);

/* The newest store_password; any thread. */
void ar_secret_renewal_password(void *renewal, struct ar_buf *out);

/* Ends what is under way; the loop must run until it has ended before the memory goes. NULL: nothing. */
void ar_secret_renewal_close(struct ar_secret_renewal *r);
void ar_secret_renewal_free(struct ar_secret_renewal *r);

#endif
