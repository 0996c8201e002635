/* Bringing the configured store to the newest schema, before nodes of a new version start. */
#ifndef AR_HOST_MIGRATE_H
#define AR_HOST_MIGRATE_H

#include "buf.h"
#include "config.h"
#include "status.h"

AR_BEGIN_DECLS

/* Migrates the PostgreSQL store of the settings; *ret_from is the version that was found (0: an empty database), *ret_to the one
 * it has now. AR_E_NOT_FOUND: the settings name none. */
AR_MUST_USE enum ar_status ar_host_migrate(const struct ar_config *config, uint64_t *ret_from,
					   uint64_t *ret_to, struct ar_error *err);

/* store_password of a struct ar_config, where nothing renews it (struct ar_store_password). */
void ar_store_password_of(void *config, struct ar_buf *out);

AR_END_DECLS

#endif
