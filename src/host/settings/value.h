/* One value of the settings: from its text, in the file or the environment, to the type that the
 * catalogue declares. The same strict rules for both. A problem names where the value was written, the
 * setting, the value unless it may be secret, and what is allowed. */
#ifndef AR_HOST_SETTINGS_VALUE_H
#define AR_HOST_SETTINGS_VALUE_H

#include "config.h"
#include "secret/reference.h"

struct ar_setting {
	const struct ar_config_key *key;
	const char *path; /* what problems call it: "model.name", "models[2].name" */
	void *at; /* its place in the struct in force */
	struct ar_origin origin;
	struct ar_problems *problems;
	struct ar_secret_refs *refs;
};

/* A value of any kind but strings; false with a problem. The text lives in the problems' arena afterwards. */
AR_MUST_USE bool ar_setting_set(const struct ar_setting *s, struct ar_str text);

/* One word of a setting of kind strings. */
AR_MUST_USE bool ar_setting_word(const struct ar_setting *s, struct ar_str text, const char **ret);

#endif
