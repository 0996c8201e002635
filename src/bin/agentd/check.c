/* `agentd check`: see command.h. */
#include "settings/check.h"
#include "command.h"
#include "options.h"

#include <stdio.h>

static const char help[] =
	"usage: agentd check [--config FILE] [--data-dir DIR] [--listen ADDR:PORT|off] [--socket PATH|off]\n"
	"                    [--secrets]\n"
	"\n"
	"Checks the settings that agentd would start with (file, environment and these options), and the\n"
	"files and directories that they name. Lists every mistake with its place and what to do. Starts\n"
	"nothing. With --secrets it also runs the programs and queries the stores of secret references, as "
	"a\n"
	"start would. Exit status: 0 if agentd can start with the settings, 1 if it cannot.\n"
	"\n"
	"example:\n"
	"  agentd check --config /etc/agentd/agentd.yaml\n";

void ar_agentd_list(const char *level, const struct ar_problems *p)
{
	for (size_t i = 0; i < p->count; i++)
		fprintf(stderr, "%s: %s\n", level, p->v[i].p);
}

int ar_agentd_check(int argc, char **argv)
{
	struct ar_settings_args args = { 0 };
	struct ar_arena arena = { 0 };
	struct ar_settings settings;
	bool is_asking = false;
	int rc = ar_agentd_settings_options(argc, argv,
					    &(struct ar_agentd_options){ "agentd check", help, NULL }, &args,
					    (struct ar_agentd_option){ "--secrets", NULL, &is_asking });

	if (rc)
		return rc - 1;
	ar_settings_read(&args, &arena, &settings);
	if (settings.problems.count == 0) {
		ar_settings_resolve(&settings, is_asking);
		ar_settings_check(&settings);
		ar_settings_look(&settings);
	}
	ar_agentd_list("warning", &settings.warnings);
	ar_agentd_list("error", &settings.problems);
	rc = settings.problems.count > 0;
	if (rc)
		fprintf(stderr, "%zu%s found; agentd would not start\n", settings.problems.count,
			settings.problems.count == 1 ? " mistake" : " mistakes");
	else
		puts("the settings are correct");
	ar_arena_fini(&arena);
	return rc;
}
