/* See migrate.h. Runs instead of the runtime, on the calling thread. */
#include "migrate.h"

#include "store_open.h"

enum ar_status ar_runtime_migrate(const struct ar_config *config, uint64_t *ret_from, uint64_t *ret_to,
				  struct ar_error *err)
{
	if (!*config->store)
		return ar_fail(err, AR_E_NOT_FOUND,
			       "the settings name no PostgreSQL store; an SQLite file needs no migration");
	return ar_store_postgres_migrate(config->store, ret_from, ret_to, err);
}
