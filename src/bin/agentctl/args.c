/* See args.h. getopt_long over tables that are put together for each command. One thread: getopt keeps state. */
#include "args.h"

#include <getopt.h>
#include <string.h>

#define GLOBALS 9
#define FIRST_GLOBAL 256 /* values of getopt_long; below are the command's own */

const struct ar_ctl_option ar_global_options[GLOBALS] = {
	{ "socket", "PATH", "unix socket of the daemon" },
	{ "data-dir", "DIR", "its data folder; the socket is in there" },
	{ "url", "URL", "talk to http://127.0.0.1:7717, or https elsewhere, instead of the socket" },
	{ "token", "TOKEN", "API token to show; better in AGENTCTL_TOKEN, where others do not see it" },
	{ "cacert", "FILE",
	  "PEM file of the authorities that an https server is verified by; else SSL_CERT_FILE, else the "
	  "system's" },
	{ "json", NULL, "print JSON" },
	{ "quiet", NULL, "no notes on standard error" },
	{ "help", NULL, "print the page of the command" },
	{ "version", NULL, "print the version" },
};
const size_t ar_global_option_count = GLOBALS;

static struct option long_option(const struct ar_ctl_option *o, int value)
{
	return (struct option){ o->name, o->value ? required_argument : no_argument, NULL, value };
}

static void add_globals(struct option *to)
{
	for (int i = 0; i < GLOBALS; i++)
		to[i] = long_option(&ar_global_options[i], FIRST_GLOBAL + i);
	to[GLOBALS] = (struct option){ 0 };
}

static bool take_global(struct ar_globals *g, int got)
{
	const char **texts[] = { &g->socket, &g->data_dir, &g->url, &g->token, &g->cacert };
	bool *flags[] = { &g->is_json, &g->is_quiet, &g->is_help, &g->is_version };
	int i = got == 'h' ? 7 : got == 'q' ? 6 : got - FIRST_GLOBAL;

	if (i < 0 || i >= GLOBALS)
		return false;
	if (i < (int)AR_ARRAY_LEN(texts))
		*texts[i] = optarg;
	else
		*flags[i - (int)AR_ARRAY_LEN(texts)] = true;
	return true;
}

bool ar_args_globals(int argc, char **argv, struct ar_globals *ret, int *ret_next)
{
	struct option options[GLOBALS + 1];
	int got;

	add_globals(options);
	optind = 0;
	while ((got = getopt_long(argc, argv, "+hq", options, NULL)) != -1) {
		if (!take_global(ret, got))
			return false;
	}
	*ret_next = optind;
	return true;
}

bool ar_args_command(const struct ar_ctl_command *cmd, int argc, char **argv, struct ar_globals *globals,
		     struct ar_ctl_args *ret)
{
	struct option options[AR_CTL_OPTIONS + GLOBALS + 1];
	int own = 0, got;

	for (; own < AR_CTL_OPTIONS && cmd->options[own].name; own++)
		options[own] = long_option(&cmd->options[own], own + 1);
	add_globals(options + own);
	*ret = (struct ar_ctl_args){ 0 };
	optind = 0;
	while ((got = getopt_long(argc, argv, "hq", options, NULL)) != -1) {
		if (got >= 1 && got <= own)
			ret->values[got - 1] = optarg ? optarg : "";
		else if (!take_global(globals, got))
			return false;
	}
	ret->words = argv + optind;
	ret->count = argc - optind;
	return true;
}
