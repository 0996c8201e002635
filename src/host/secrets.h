/* Which values are secret here: settings that the catalogue marks so, variables of the environment that are named like one, and what the
 * operator lists. Read once at start. */
#ifndef AR_HOST_SECRETS_H
#define AR_HOST_SECRETS_H

#include "config.h"
#include "redact.h"
#include "status.h"

/* Refuses entries of redact.literals that are too short to be told from ordinary words. */
AR_MUST_USE enum ar_status ar_secrets_load(const struct ar_config *c, struct ar_redactor **ret,
					   struct ar_error *err);

/* The text without its secrets, in the arena; and the sentence of an error, in place (NULL redactor: as it is). */
struct ar_str ar_secrets_mask(const struct ar_redactor *r, const char *text, struct ar_arena *a);
void ar_secrets_mask_error(const struct ar_redactor *r, struct ar_error *err);

#endif
