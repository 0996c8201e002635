/* The configuration in force: defaults, then the YAML file, then the environment, then the command
 * line. Keys, types, ranges and defaults are the catalogue's (catalog/config.cat). */
#ifndef AR_HOST_SETTINGS_H
#define AR_HOST_SETTINGS_H

#include "arena.h"
#include "config.h"
#include "status.h"

/* What the command line says; NULL = nothing. */
struct ar_settings_args {
	const char *config_file;
	const char *data_dir;
	const char *listen;
	const char *socket;
	const char *const *overrides; /* "key=value" of the catalogue's keys, ended by NULL; NULL: none */
	bool no_listeners; /* serves no address and no socket unless one is named */
};

/* Text lives in the arena; references to secrets have no value yet, but for variables. An error names
 * the key or the line and what is allowed. Empty data_dir and socket are filled in. */
AR_MUST_USE enum ar_status ar_settings_load(const struct ar_settings_args *args, struct ar_arena *a,
					    struct ar_config *ret, struct ar_error *err);

/* The same with the values of all references to secrets: files are read, programs run, stores asked. */
AR_MUST_USE enum ar_status ar_settings_load_secrets(const struct ar_settings_args *args, struct ar_arena *a,
						    struct ar_config *ret, struct ar_error *err);

#endif
