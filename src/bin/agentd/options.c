/* See options.h. */
#include "options.h"
#include "settings.h"
#include "text/suggest.h"

#include <stdio.h>
#include <string.h>

#define GO_ON 0
#define LEAVE_WELL 1
#define LEAVE_USAGE 3 /* status 2 */

static int refuse(const char *program, const char *what, struct ar_str word, const struct ar_suggestion *best)
{
	fprintf(stderr, "%s: %s '%.*s'", program, what, (int)(word.len > 60 ? 60 : word.len), word.p);
	if (best->word)
		fprintf(stderr, "; did you mean '%s'?", best->word);
	fprintf(stderr, "\nTry: %s --help\n", program);
	return LEAVE_USAGE;
}

static const struct ar_agentd_option *find_option(const struct ar_agentd_options *o, struct ar_str name,
						  struct ar_suggestion *best)
{
	for (const struct ar_agentd_option *one = o->all; one->name; one++) {
		if (ar_str_is(name, one->name))
			return one;
		ar_suggest(best, name, one->name);
	}
	ar_suggest(best, name, "--help");
	ar_suggest(best, name, "--version");
	return NULL;
}

/* *at stands on the option; it is moved on to its value, if that is a word of its own. */
static int read_option(const struct ar_agentd_options *o, char **argv, int argc, int *at)
{
	static const struct ar_suggestion none = { 0 };
	struct ar_str name, value = ar_str_split(ar_str_from(argv[*at]), '=', &name);
	struct ar_suggestion best = { 0 };
	const struct ar_agentd_option *one = find_option(o, name, &best);

	if (!one)
		return refuse(o->program, name.len && name.p[0] == '-' ? "unknown option" : "unexpected word",
			      name, &best);
	if (one->flag && !ar_str_absent(value))
		return refuse(o->program, "no value belongs to", name, &none);
	if (one->flag) {
		*one->flag = true;
		return GO_ON;
	}
	if (ar_str_absent(value) && *at + 1 == argc)
		return refuse(o->program, "a value is needed after", name, &none);
	*one->value = ar_str_absent(value) ? argv[++*at] : value.p;
	return GO_ON;
}

int ar_agentd_options(int argc, char **argv, const struct ar_agentd_options *o)
{
	for (int i = 1; i < argc; i++) {
		bool is_help = strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
		int rc;

		if (is_help || strcmp(argv[i], "--version") == 0) {
			fputs(is_help ? o->usage : "agentd " AR_VERSION "\n", stdout);
			return LEAVE_WELL;
		}
		rc = read_option(o, argv, argc, &i);
		if (rc)
			return rc;
	}
	return GO_ON;
}

int ar_agentd_settings_options(int argc, char **argv, const struct ar_agentd_options *o,
			       struct ar_settings_args *args, struct ar_agentd_option more)
{
	const struct ar_agentd_option all[] = { { "--config", &args->config_file, NULL },
						{ "--data-dir", &args->data_dir, NULL },
						{ "--listen", &args->listen, NULL },
						{ "--socket", &args->socket, NULL },
						more,
						{ 0 } };

	return ar_agentd_options(argc, argv, &(struct ar_agentd_options){ o->program, o->usage, all });
}

int ar_agentd_word(int argc, char **argv, const char *const *names)
{
	struct ar_suggestion best = { 0 };

	if (argc < 2 || argv[1][0] == '-')
		return -1;
	for (int i = 0; names[i]; i++) {
		if (strcmp(argv[1], names[i]) == 0)
			return i;
		ar_suggest(&best, ar_str_from(argv[1]), names[i]);
	}
	refuse("agentd", "unknown command", ar_str_from(argv[1]), &best);
	return -2;
}
