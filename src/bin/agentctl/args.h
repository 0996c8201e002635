/* Options and words of the command line. The global options stand before or behind the command. Names are
 * exact: an abbreviation could mean another option tomorrow. */
#ifndef AR_CTL_ARGS_H
#define AR_CTL_ARGS_H

#include "ctl.h"

struct ar_globals {
	const char *socket, *data_dir, *url, *token, *cacert;
	bool is_json, is_quiet, is_help, is_version;
};

extern const struct ar_ctl_option ar_global_options[];
extern const size_t ar_global_option_count;

/* Takes the global options in front of the command; *ret_next is the index of the first word. A wrong option
 * has been named on standard error: AR_EXIT_USAGE. */
AR_MUST_USE enum ar_exit ar_args_globals(struct ar_ctl *c, int argc, char **argv, struct ar_globals *ret,
					 int *ret_next);

/* Takes what follows the command's name (argv[0] here): options and words in any order, only words after
 * `--`. The words are moved to the front of argv. */
AR_MUST_USE enum ar_exit ar_args_command(struct ar_ctl *c, const struct ar_ctl_command *cmd, int argc,
					 char **argv, struct ar_globals *globals, struct ar_ctl_args *ret);

#endif
