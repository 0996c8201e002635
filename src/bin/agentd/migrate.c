/* `agentd migrate`: see command.h. */
#include "command.h"
#include "options.h"
#include "secrets.h"
#include "settings.h"
#include "store_open.h"

#include <inttypes.h>
#include <stdio.h>

static const char help[] =
	"usage: agentd migrate [--config FILE]\n"
	"\n"
	"Upgrades the PostgreSQL store of the settings (store, AGENTD_STORE) to the newest schema, and "
	"prints\n"
	"the old and the new version; each step is told on standard error. Nodes of the previous version "
	"keep\n"
	"working: migrate first, then replace one node after the other. An SQLite file needs no migration.\n"
	"\n"
	"example:\n"
	"  AGENTD_STORE=postgres://agentd@db/agentd agentd migrate\n";

static void password_of(void *config, struct ar_buf *out)
{
	ar_buf_addz(out, ((const struct ar_config *)config)->store_password);
}

/* Not with the result, which a script may read. */
static void show_step(uint64_t version, uint64_t last)
{
	fprintf(stderr, "schema version %" PRIu64 " of %" PRIu64 " ...\n", version, last);
}

/* *ret_from is the version that was found (0: an empty database), *ret_to the one it has now.
 * AR_E_NOT_FOUND: the settings name no PostgreSQL store. */
static enum ar_status migrate_store(const struct ar_config *config, uint64_t *ret_from, uint64_t *ret_to,
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
		&(struct ar_store_postgres_options){ .conninfo = config->store,
						     .password = { password_of, (void *)(uintptr_t)config },
						     .on_step = show_step },
		ret_from, ret_to, err);
	if (rc != AR_OK)
		ar_secrets_mask_error(redactor, err);
	ar_redactor_free(redactor);
	return rc;
}

static int migrate(const struct ar_config *config, struct ar_error *err)
{
	uint64_t from, to;
	enum ar_status st = migrate_store(config, &from, &to, err);

	if (st == AR_E_NOT_FOUND) {
		printf("%s\n", err->msg);
		return 0;
	}
	if (st)
		return 1;
	if (from == to)
		printf("schema version %" PRIu64 ", nothing to do\n", to);
	else
		printf("schema version %" PRIu64 " -> %" PRIu64 "\n", from, to);
	return 0;
}

int ar_agentd_migrate(int argc, char **argv)
{
	struct ar_settings_args args = { 0 };
	const struct ar_agentd_option options[] = { { "--config", &args.config_file, NULL }, { 0 } };
	struct ar_arena arena = { 0 };
	struct ar_error err = { 0 };
	struct ar_config config;
	int rc =
		ar_agentd_options(argc, argv, &(struct ar_agentd_options){ "agentd migrate", help, options });

	if (rc)
		return rc - 1;
	if (ar_settings_load_secrets(&args, &arena, &config, &err) != AR_OK)
		rc = 1;
	else
		rc = migrate(&config, &err);
	if (rc)
		fprintf(stderr, "agentd: %s\n", err.msg);
	ar_arena_fini(&arena);
	return rc;
}
