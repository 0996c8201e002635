/* `agentd settings`: see command.h. */
#include "buf.h"
#include "command.h"
#include "json.h"
#include "options.h"
#include "settings/show.h"

#include <stdio.h>

static const char help[] =
	"usage: agentd settings [--config FILE] [--data-dir DIR] [--listen ADDR:PORT|off]\n"
	"                       [--socket PATH|off] [--json]\n"
	"\n"
	"Prints the settings that agentd would start with, and the source of each: the default, a line of\n"
	"the file, a variable, an option, or this machine. Secrets are redacted. Starts nothing. Exit "
	"status\n"
	"1 if a setting is wrong.\n"
	"\n"
	"example:\n"
	"  agentd settings --config /etc/agentd/agentd.yaml | grep -v default\n";

static struct ar_str text_of(struct ar_json row, const char *name)
{
	struct ar_str text = AR_STR("");

	ar_json_str(ar_json_get(row, name), &text);
	return text;
}

static void print_row(struct ar_json row)
{
	struct ar_str source = text_of(row, "source");
	struct ar_buf value = { 0 };

	ar_json_print(ar_json_get(row, "value"), &value);
	printf("%-32.*s %-28.*s %.*s%s%.*s\n", AR_STR_ARG(text_of(row, "key")),
	       AR_STR_ARG(ar_buf_str(&value)), AR_STR_ARG(text_of(row, "origin")), source.len ? " " : "",
	       AR_STR_ARG(source));
	ar_buf_fini(&value);
}

static void print(const struct ar_buf *text)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc;

	if (ar_json_parse(parser, ar_buf_str(text), &doc, NULL) == AR_OK) {
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(doc, "settings")); ar_json_next(&it);)
			print_row(it.value);
	}
	ar_json_parser_free(parser);
}

static int show(const struct ar_settings *s, bool is_json)
{
	struct ar_error err = { 0 };
	struct ar_buf text = { 0 };
	int rc = ar_settings_document(s, &text, &err) != AR_OK;

	if (rc)
		fprintf(stderr, "error: %s\n", err.msg);
	else if (is_json)
		printf("%.*s\n", AR_STR_ARG(ar_buf_str(&text)));
	else
		print(&text);
	ar_buf_fini(&text);
	return rc;
}

int ar_agentd_settings(int argc, char **argv)
{
	struct ar_settings_args args = { 0 };
	bool is_json = false;
	struct ar_arena arena = { 0 };
	struct ar_settings settings;
	int rc = ar_agentd_settings_options(argc, argv,
					    &(struct ar_agentd_options){ "agentd settings", help, NULL },
					    &args, (struct ar_agentd_option){ "--json", NULL, &is_json });

	if (rc)
		return rc - 1;
	ar_settings_read(&args, &arena, &settings);
	ar_agentd_list("warning", &settings.warnings);
	ar_agentd_list("error", &settings.problems);
	rc = settings.problems.count > 0 ? 1 : show(&settings, is_json);
	ar_arena_fini(&arena);
	return rc;
}
