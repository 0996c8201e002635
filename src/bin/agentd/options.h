/* Options of agentd and its commands: exact names, `--name VALUE` or `--name=VALUE`. */
#ifndef AR_BIN_AGENTD_OPTIONS_H
#define AR_BIN_AGENTD_OPTIONS_H

#include "compiler.h"

#include <stdbool.h>
#include <stddef.h>

/* One of the two targets is set. */
struct ar_agentd_option {
	const char *name; /* "--config" */
	const char **value;
	bool *flag;
};

struct ar_agentd_options {
	const char *program; /* "agentd migrate" */
	const char *usage;
	const struct ar_agentd_option *all; /* ended by one without a name */
};

/* Reads what follows argv[0]. 0: go on; otherwise leave with that status - 1. What is not known is refused
 * with what was probably meant; --help and --version are always known. */
int ar_agentd_options(int argc, char **argv, const struct ar_agentd_options *o);

/* The options by which settings are found, for the commands that read them as the daemon does; o->all is not
 * looked at. `more` is one of the command's own; without a name there is none. */
struct ar_settings_args;
int ar_agentd_settings_options(int argc, char **argv, const struct ar_agentd_options *o,
			       struct ar_settings_args *args, struct ar_agentd_option more);

/* The command whose name argv[1] is; -1: none is named. What looks like a command and is none is refused: -2.
 * `names` is ended by NULL. */
int ar_agentd_word(int argc, char **argv, const char *const *names);

#endif
