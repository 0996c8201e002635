/* See args.h. Not getopt_long: it takes the beginning of a name for the name. One thread. */
#include "args.h"
#include "help.h"

#include <string.h>

#define GLOBALS 9
#define GLOBAL_TEXTS 5 /* the first of them take a value */

const struct ar_ctl_option ar_global_options[GLOBALS] = {
	{ "socket", "PATH", "unix socket of the daemon" },
	{ "data-dir", "DIR", "data directory of the daemon; it contains the socket" },
	{ "url", "URL",
	  "use this address (http://127.0.0.1:7717, or https elsewhere) instead of the socket" },
	{ "token", "TOKEN", "API token; better in AGENTCTL_TOKEN, which other users cannot see" },
	{ "cacert", "FILE",
	  "PEM file of the authorities that verify an https server; default SSL_CERT_FILE or the "
	  "system's" },
	{ "json", NULL, "print JSON" },
	{ "quiet", NULL, "no notes on standard error" },
	{ "help", NULL, "print the help of the command" },
	{ "version", NULL, "print the version" },
};
const size_t ar_global_option_count = GLOBALS;

/* One pass over a command line. */
struct reading {
	struct ar_ctl *ctl;
	const struct ar_ctl_command *command; /* NULL: in front of it */
	struct ar_globals *globals;
	const char **values; /* of the command's options */
	char **argv;
	int argc, next;
};

/* The command's options, then the global ones; NULL for a hole. */
static const struct ar_ctl_option *option_at(const struct reading *r, size_t i)
{
	if (i >= AR_CTL_OPTIONS)
		return &ar_global_options[i - AR_CTL_OPTIONS];
	return r->command && r->command->options[i].name ? &r->command->options[i] : NULL;
}

static const char *option_name(const void *table, size_t i)
{
	const struct ar_ctl_option *o = option_at(table, i);

	return o ? o->name : NULL;
}

/* Place in option_at of an exact name; AR_CTL_OPTIONS + GLOBALS when there is none. */
static size_t find_option(const struct reading *r, struct ar_str name)
{
	size_t i = 0;

	while (i < AR_CTL_OPTIONS + GLOBALS && !(option_name(r, i) && ar_str_is(name, option_name(r, i))))
		i++;
	return i;
}

/* ---- complaints ---- */

static struct ar_str usage(const struct reading *r, const char *near)
{
	struct ar_buf text = { 0 };

	if (near)
		ar_buf_addf(&text, "did you mean --%s? ", near);
	if (r->command)
		ar_buf_addf(&text, "usage: agentctl %s [OPTIONS]%s%s; `agentctl %s --help` lists the options",
			    r->command->name, *r->command->synopsis ? " " : "", r->command->synopsis,
			    r->command->name);
	else
		ar_buf_addz(&text,
			    "usage: agentctl [GLOBAL OPTIONS] COMMAND [OPTIONS] [WORDS]; `agentctl help` "
			    "lists the options");
	return ar_ctl_take_buf(r->ctl, &text);
}

static enum ar_exit unknown(const struct reading *r, struct ar_str word)
{
	struct ar_str name = word;
	const char *near = NULL;

	ar_str_split(word, '=', &name);
	if (ar_str_starts(name, AR_STR("--")))
		near = ar_help_nearest(ar_ctl_strdup(r->ctl, ar_str_sub(name, 2, name.len)), option_name, r,
				       AR_CTL_OPTIONS + GLOBALS);
	return ar_ctl_complain(r->ctl, AR_EXIT_USAGE, usage(r, near), "%s has no option %.*s",
			       r->command ? r->command->name : "agentctl", AR_STR_ARG(name));
}

/* ---- taking ---- */

static void store(struct reading *r, size_t at, const char *value)
{
	struct ar_globals *g = r->globals;
	const char **texts[GLOBAL_TEXTS] = { &g->socket, &g->data_dir, &g->url, &g->token, &g->cacert };
	bool *flags[GLOBALS - GLOBAL_TEXTS] = { &g->is_json, &g->is_quiet, &g->is_help, &g->is_version };

	if (at < AR_CTL_OPTIONS)
		r->values[at] = value;
	else if (at - AR_CTL_OPTIONS < GLOBAL_TEXTS)
		*texts[at - AR_CTL_OPTIONS] = value;
	else
		*flags[at - AR_CTL_OPTIONS - GLOBAL_TEXTS] = true;
}

/* The value after `=`, or the next argument. One that begins with two dashes is an option whose
 * predecessor lacks its value. */
static enum ar_exit read_value(struct reading *r, size_t at, struct ar_str after)
{
	const struct ar_ctl_option *o = option_at(r, at);
	const char *value = after.p; /* to the end of the argument */

	if (!value && r->next < r->argc && strncmp(r->argv[r->next], "--", 2) != 0)
		value = r->argv[r->next++];
	if (!value)
		return ar_ctl_complain(r->ctl, AR_EXIT_USAGE, usage(r, NULL), "--%s needs a value: --%s %s",
				       o->name, o->name, o->value);
	store(r, at, value);
	return AR_EXIT_OK;
}

static enum ar_exit read_long(struct reading *r, struct ar_str word)
{
	struct ar_str name, after = ar_str_split(ar_str_sub(word, 2, word.len), '=', &name);
	size_t at = find_option(r, name);

	if (at == AR_CTL_OPTIONS + GLOBALS)
		return unknown(r, word);
	if (option_at(r, at)->value)
		return read_value(r, at, after);
	if (!ar_str_absent(after))
		return ar_ctl_complain(r->ctl, AR_EXIT_USAGE, usage(r, NULL),
				       "--%.*s has no value, but got '%.*s'", AR_STR_ARG(name),
				       AR_STR_ARG(after));
	store(r, at, "");
	return AR_EXIT_OK;
}

static enum ar_exit read_option(struct reading *r, const char *word)
{
	if (strcmp(word, "-h") == 0)
		r->globals->is_help = true;
	else if (strcmp(word, "-q") == 0)
		r->globals->is_quiet = true;
	else if (strncmp(word, "--", 2) == 0)
		return read_long(r, ar_str_from(word));
	else
		return unknown(r, ar_str_from(word));
	return AR_EXIT_OK;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] && strcmp(word, "--") != 0;
}

enum ar_exit ar_args_globals(struct ar_ctl *c, int argc, char **argv, struct ar_globals *ret, int *ret_next)
{
	struct reading r = { .ctl = c, .globals = ret, .argv = argv, .argc = argc, .next = 1 };
	enum ar_exit exit = AR_EXIT_OK;

	while (exit == AR_EXIT_OK && r.next < argc && is_option(argv[r.next]))
		exit = read_option(&r, argv[r.next++]);
	if (r.next < argc && strcmp(argv[r.next], "--") == 0)
		r.next++;
	*ret_next = r.next;
	return exit;
}

enum ar_exit ar_args_command(struct ar_ctl *c, const struct ar_ctl_command *cmd, int argc, char **argv,
			     struct ar_globals *globals, struct ar_ctl_args *ret)
{
	struct reading r = { .ctl = c,
			     .command = cmd,
			     .globals = globals,
			     .values = ret->values,
			     .argv = argv,
			     .argc = argc,
			     .next = 1 };
	enum ar_exit exit = AR_EXIT_OK;
	bool has_ended = false; /* after `--` */

	*ret = (struct ar_ctl_args){ .words = argv + 1 };
	while (exit == AR_EXIT_OK && r.next < argc) {
		char *word = argv[r.next++];

		if (!has_ended && strcmp(word, "--") == 0)
			has_ended = true;
		else if (!has_ended && is_option(word))
			exit = read_option(&r, word);
		else
			ret->words[ret->count++] = word;
	}
	return exit;
}
