/* `agentd migrate`: see command.h. */
#include "migrate.h"
#include "command.h"
#include "options.h"
#include "settings.h"

#include <inttypes.h>
#include <stdio.h>

static const char help[] = "usage: agentd migrate [--config FILE]\n"
			   "\n"
			   "Upgrades the PostgreSQL store of the settings (store, AGENTD_STORE) to the "
			   "newest schema, and prints\n"
			   "the old and the new version. Nodes of the previous version keep working: migrate "
			   "first, then replace\n"
			   "one node after the other. An SQLite file needs no migration.\n"
			   "\n"
			   "example:\n"
			   "  AGENTD_STORE=postgres://agentd@db/agentd agentd migrate\n";

static int migrate(const struct ar_config *config, struct ar_error *err)
{
	uint64_t from, to;
	enum ar_status st = ar_host_migrate(config, &from, &to, err);

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
