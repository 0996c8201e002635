/* See migrate.h. Runs instead of the runtime, on the calling thread. */
#include "migrate.h"

#include "secrets.h"
#include "store_open.h"

void ar_store_password_of(void *config, struct ar_buf *out)
{
	ar_buf_addz(out, ((const struct ar_config *)config)->store_password);
}

enum ar_status ar_host_migrate(const struct ar_config *config, uint64_t *ret_from, uint64_t *ret_to,
			       struct ar_error *err)
{
	struct ar_redactor *redactor;
	enum ar_status rc;

	if (!*config->store)
		return ar_fail(err, AR_E_NOT_FOUND,
			       "the settings name no PostgreSQL store; an SQLite file needs no migration");
	if (ar_secrets_load(config, &redactor, err) != AR_OK)
		return err->status;
	rc = ar_store_postgres_migrate(
		&(struct ar_store_postgres_options){
			.conninfo = config->store,
			.password = { ar_store_password_of, (void *)(uintptr_t)config } },
		ret_from, ret_to, err);
	if (rc != AR_OK)
		ar_secrets_mask_error(redactor, err);
	ar_redactor_free(redactor);
	return rc;
}
