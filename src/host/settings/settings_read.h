/* The settings with where each came from and everything that is wrong with them. */
#ifndef AR_HOST_SETTINGS_READ_H
#define AR_HOST_SETTINGS_READ_H

#include "settings.h"
#include "settings/problem.h"

struct ar_secret_refs;

struct ar_settings {
	struct ar_config config;
	struct ar_origin *origins; /* of each of ar_config_keys */
	struct ar_origin *lists; /* of each of ar_config_lists; a default is an empty list */
	struct ar_problems problems; /* any: the config must not be used */
	struct ar_problems warnings; /* what is ignored, and what is not safe */
	struct ar_secret_refs *refs; /* of the secrets; resolve.h and renewal.h get their values */
};

/* Everything lives in the arena. */
void ar_settings_read(const struct ar_settings_args *args, struct ar_arena *a, struct ar_settings *ret);

/* Gets the values of all references: files are read, and with `is_asking` programs run and stores
 * asked, which may take a minute. */
void ar_settings_resolve(struct ar_settings *s, bool is_asking);

/* After a runtime that renewed secrets has ended. */
void ar_settings_fini(struct ar_settings *s);

/* Where the setting of that name came from; it must exist. */
const struct ar_origin *ar_settings_origin(const struct ar_settings *s, const char *key);

#endif
