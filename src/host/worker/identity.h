/* Who this worker is: its id and its token, in a file that only its user reads. Written once, when it was
 * enrolled. Any thread. */
#ifndef AR_HOST_WORKER_IDENTITY_H
#define AR_HOST_WORKER_IDENTITY_H

#include "arena.h"
#include "status.h"

#define AR_WORKER_TOKEN_MAX 4096 /* bytes of a token, in a file or an answer */

struct ar_worker_identity {
	struct ar_str id, token;
};

/* AR_E_NOT_FOUND: there is none yet; AR_E_INVALID: the file is not ours alone, or not readable. */
AR_MUST_USE enum ar_status ar_worker_identity_read(const char *path, struct ar_arena *a,
						   struct ar_worker_identity *ret, struct ar_error *err);

/* On disk when this returns: a crash leaves the whole file or none. */
AR_MUST_USE enum ar_status ar_worker_identity_write(const char *path, const struct ar_worker_identity *who,
						    struct ar_error *err);

/* One token in a file of its own, without the blanks around it. */
AR_MUST_USE enum ar_status ar_worker_token_read(const char *path, struct ar_arena *a, struct ar_str *ret,
						struct ar_error *err);

#endif
