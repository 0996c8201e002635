/* The lists of the configuration: from what libcyaml read to entries in the arena, checked against the catalogue's tables. */
#ifndef AR_HOST_SETTINGS_LIST_H
#define AR_HOST_SETTINGS_LIST_H

#include "arena.h"
#include "config.h"
#include "status.h"

/* All lists of the file. An error names list, index, field and what is allowed. */
AR_MUST_USE enum ar_status ar_settings_lists(const struct ar_config_file *file, struct ar_arena *a,
					     struct ar_config *ret, struct ar_error *err);

#endif
