/* The values of references: got once at the start, blocking, before the loop runs. */
#ifndef AR_HOST_SECRET_RESOLVE_H
#define AR_HOST_SECRET_RESOLVE_H

#include "redact.h"
#include "secret/reference.h"

/* Gets the value of one, and puts it where it is used; a problem when there is none. */
void ar_secret_resolve_one(struct ar_secret_refs *refs, struct ar_secret_ref *ref, struct ar_problems *p);

/* All that have none yet. `is_asking` also runs programs and asks stores; without it
 * files are read and no more. */
void ar_secret_resolve(struct ar_secret_refs *refs, bool is_asking, struct ar_problems *p);

/* Whether the setting can carry the value; the error says why not. */
AR_MUST_USE enum ar_status ar_secret_check_value(const struct ar_secret_ref *ref, const char *value,
						 struct ar_error *err);

/* Masks every value that was got so far, also those that are not in use any more. */
void ar_secret_mask_known(const struct ar_secret_refs *refs, struct ar_redactor *r);

/* Lets go of renewed values; none is in use any more. */
void ar_secret_refs_fini(struct ar_secret_refs *refs);

#endif
