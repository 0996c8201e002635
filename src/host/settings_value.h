/* One value of the configuration: from the words of the file or the environment to the type that the catalogue declares. An error names
 * the setting, where its value came from, and what is allowed; never the value, which may be secret. */
#ifndef AR_HOST_SETTINGS_VALUE_H
#define AR_HOST_SETTINGS_VALUE_H

#include "arena.h"
#include "config.h"
#include "status.h"

struct ar_setting {
	const struct ar_config_key *key;
	struct ar_str path; /* what errors call it: "model.name", "models[2].name" */
	void *at; /* its place in the struct in force */
	struct ar_arena *arena; /* of its text */
};

/* `from` is "the file", "the defaults" or a variable. */
AR_MUST_USE enum ar_status ar_setting_set(const struct ar_setting *s, const char *text, const char *from,
					  struct ar_error *err);

/* From the struct that libcyaml filled, when it names the setting at all. */
AR_MUST_USE enum ar_status ar_setting_set_from_file(const struct ar_setting *s, const void *file,
						    struct ar_error *err);

#endif
