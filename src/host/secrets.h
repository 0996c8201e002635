/* Which values are secret here: settings that the catalogue marks so, variables of the environment that
 * are named like one, and what the operator lists. Read at start; values of references are added when
 * they are renewed (secret/renewal.h). */
#ifndef AR_HOST_SECRETS_H
#define AR_HOST_SECRETS_H

#include "config.h"
#include "redact.h"
#include "status.h"

/* Refuses entries of redact.literals that are too short to differ from ordinary words. */
AR_MUST_USE enum ar_status ar_secrets_load(const struct ar_config *c, struct ar_redactor **ret,
					   struct ar_error *err);

/* Makes the secrets of the settings known to a redactor that is in use. */
void ar_secrets_fill(const struct ar_config *c, struct ar_redactor *r);

/* Whether this text of a setting that may be secret has a secret in it: not every header
 * or variable is one. */
bool ar_secrets_are_in(const struct ar_config_key *key, struct ar_str text);

/* The text without its secrets, in the arena; and the sentence of an error, in place
 * (NULL redactor: as it is). */
struct ar_str ar_secrets_mask(const struct ar_redactor *r, const char *text, struct ar_arena *a);
void ar_secrets_mask_error(const struct ar_redactor *r, struct ar_error *err);

#endif
