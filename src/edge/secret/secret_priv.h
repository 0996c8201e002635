/* Inside edge/secret: one getter per kind, and the reader of a store's answer. Each adds raw bytes;
 * secret_get.c judges them. */
#ifndef AR_EDGE_SECRET_PRIV_H
#define AR_EDGE_SECRET_PRIV_H

#include "secret_get.h"

#define AR_SECRET_ANSWER_MAX (1u << 20) /* bytes of a store's answer */

struct ar_secret_order {
	const struct ar_secret_source *source;
	const atomic_bool *stop; /* may be NULL */
	ar_usec deadline; /* monotonic */
	struct ar_str token; /* of a store */
};

AR_BEGIN_DECLS

/* secret_file.c: a regular file, as a link only when it stays below its folder; others may not read it unless
 * it is a credential. */
AR_MUST_USE enum ar_status ar_secret_read_file(const char *path, bool is_credential, struct ar_buf *out,
					       struct ar_error *err);

/* secret_command.c: what the program writes to its standard output. */
AR_MUST_USE enum ar_status ar_secret_run(const struct ar_secret_order *o, struct ar_buf *out,
					 struct ar_error *err);

/* secret_http.c */
AR_MUST_USE enum ar_status ar_secret_fetch(const struct ar_secret_order *o, struct ar_buf *out,
					   struct ar_error *err);

/* secret_answer.c: the text at a JSON pointer (RFC 6901) of an answer. Pure. */
AR_MUST_USE enum ar_status ar_secret_answer(struct ar_str answer, const char *field, struct ar_buf *out,
					    struct ar_error *err);

/* AR_E_CANCELED: asked to stop; AR_E_TIMEOUT: the time is over. */
enum ar_status ar_secret_check_time(const struct ar_secret_order *o, struct ar_error *err);

AR_END_DECLS

#endif
