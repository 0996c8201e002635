/* `agentd sandbox`: see command.h. */
#include "command.h"
#include "sandbox_report.h"
#include "json.h"
#include "options.h"
#include "settings.h"

#include <stdio.h>

static const char help[] =
	"usage: agentd sandbox [--config FILE] [--json]\n"
	"\n"
	"Attacks each mechanism of the sandbox, and prints which ones work here, which profiles are\n"
	"available, and what to do about the others. Exit status 1 if the configured profile is not\n"
	"available.\n"
	"\n"
	"example:\n"
	"  agentd sandbox --json | jq '.profiles[] | select(.isAvailable | not)'\n";

static struct ar_str text_of(struct ar_json row, const char *name)
{
	struct ar_str text = AR_STR("");

	ar_json_str(ar_json_get(row, name), &text);
	return text;
}

static bool flag_of(struct ar_json row, const char *name)
{
	bool flag = false;

	ar_json_bool(ar_json_get(row, name), &flag);
	return flag;
}

static void print_rows(struct ar_json rows, const char *name, const char *flag, const char *why)
{
	for (struct ar_json_iter it = ar_json_iter(rows); ar_json_next(&it);) {
		struct ar_str remedy = text_of(it.value, "remedy");
		bool is_good = flag_of(it.value, flag);

		printf("  %-3s %-20.*s %.*s\n", is_good ? "yes" : "NO", AR_STR_ARG(text_of(it.value, name)),
		       AR_STR_ARG(text_of(it.value, why)));
		if (!is_good && !ar_str_empty(remedy))
			printf("      %-20s -> %.*s\n", "", AR_STR_ARG(remedy));
	}
}

/* Whether the wanted profile can be had. */
static bool report(struct ar_json doc)
{
	struct ar_str cause = text_of(doc, "cause");

	if (!ar_str_empty(cause))
		printf("%.*s\n", AR_STR_ARG(cause));
	if (ar_json_len(ar_json_get(doc, "ladder")) > 0)
		printf("mechanisms\n");
	print_rows(ar_json_get(doc, "ladder"), "mechanism", "isWorking", "detail");
	printf("profiles (settings: %.*s)\n", AR_STR_ARG(text_of(doc, "profile")));
	print_rows(ar_json_get(doc, "profiles"), "name", "isAvailable", "reason");
	return flag_of(doc, "isAvailable");
}

static int check(const struct ar_config *config, bool is_json, struct ar_error *err)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_buf text = { 0 };
	struct ar_json doc;
	int rc = 2;

	if (ar_host_sandbox_report(config, &text, err) == AR_OK &&
	    ar_json_parse(parser, ar_buf_str(&text), &doc, err) == AR_OK) {
		if (is_json)
			printf("%.*s\n", AR_STR_ARG(ar_buf_str(&text)));
		rc = (is_json ? flag_of(doc, "isAvailable") : report(doc)) ? 0 : 1;
	}
	ar_buf_fini(&text);
	ar_json_parser_free(parser);
	return rc;
}

int ar_agentd_sandbox(int argc, char **argv)
{
	struct ar_settings_args args = { 0 };
	bool is_json = false;
	const struct ar_agentd_option options[] = { { "--config", &args.config_file, NULL },
						    { "--json", NULL, &is_json },
						    { 0 } };
	struct ar_arena arena = { 0 };
	struct ar_error err = { 0 };
	struct ar_config config;
	int rc =
		ar_agentd_options(argc, argv, &(struct ar_agentd_options){ "agentd sandbox", help, options });

	if (rc)
		return rc - 1;
	if (ar_settings_load_secrets(&args, &arena, &config, &err) != AR_OK)
		rc = 2;
	else
		rc = check(&config, is_json, &err);
	if (rc == 2)
		fprintf(stderr, "agentd: %s\n", err.msg);
	ar_arena_fini(&arena);
	return rc;
}
