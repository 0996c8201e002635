/* Bringing the configured store to the newest schema, before nodes of a new version start. */
#ifndef AR_HOST_MIGRATE_H
#define AR_HOST_MIGRATE_H

#include "config.h"
#include "status.h"

AR_BEGIN_DECLS

/* Migrates the PostgreSQL store of the settings; *ret_from is the version that was found (0: an empty database), *ret_to the one
 * it has now. AR_E_NOT_FOUND: the settings name none. */
AR_MUST_USE enum ar_status ar_runtime_migrate(const struct ar_config *config, uint64_t *ret_from,
					      uint64_t *ret_to, struct ar_error *err);

AR_END_DECLS

#endif
