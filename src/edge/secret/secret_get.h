/* Where a secret is, and getting it from there. Blocking: start-up and worker threads. A value is a text of 1
 * to AR_SECRET_MAX bytes without NUL; one line end at its end is dropped. Sentences of errors never hold a
 * value. No state; any thread. */
#ifndef AR_EDGE_SECRET_H
#define AR_EDGE_SECRET_H

#include "buf.h"
#include "status.h"

#include <stdatomic.h>

#define AR_SECRET_MAX 65536
#define AR_SECRET_MS 10000 /* a source that needs longer has failed */

enum ar_secret_kind {
	AR_SECRET_TEXT = 0, /* the value itself; only the token of a store */
	AR_SECRET_FILE,
	AR_SECRET_CREDENTIAL, /* a file of $CREDENTIALS_DIRECTORY, where systemd puts them */
	AR_SECRET_ENV,
	AR_SECRET_COMMAND,
	AR_SECRET_HTTP,
	AR_SECRET_KINDS,
};

struct ar_secret_source {
	enum ar_secret_kind kind;
	const char *name; /* the value, the path, the name of the credential or variable, or the address */
	char *const *argv; /* of a command: an absolute path first, NULL at the end */
	/* Of a store: */
	const struct ar_secret_source *token; /* sent with the request; NULL: none */
	const char *header; /* that carries it */
	const char *field; /* JSON pointer to the value in the answer; empty: the answer is the value */
	const char *ca_file; /* certificates to trust instead of the system's; empty: those */
};

/* What was got. Zero it. */
struct ar_secret_got {
	struct ar_buf value; /* NUL-terminated */
	struct ar_buf token; /* of a store, to be masked like the value */
};

AR_BEGIN_DECLS

/* `stop`, when not NULL, ends it early with AR_E_CANCELED. */
AR_MUST_USE enum ar_status ar_secret_get(const struct ar_secret_source *s, const atomic_bool *stop,
					 struct ar_secret_got *ret, struct ar_error *err);
void ar_secret_got_fini(struct ar_secret_got *g); /* overwrites the values */

AR_END_DECLS

#endif
