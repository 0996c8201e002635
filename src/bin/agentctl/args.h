/* Options and words of the command line. The global options stand before or behind the command. */
#ifndef AR_CTL_ARGS_H
#define AR_CTL_ARGS_H

#include "ctl.h"

struct ar_globals {
	const char *socket, *data_dir, *url, *token, *cacert;
	bool is_json, is_quiet, is_help, is_version;
};

extern const struct ar_ctl_option ar_global_options[];
extern const size_t ar_global_option_count;

/* Takes the global options in front of the command; *ret_next is the index of the first word. False: one is wrong, and
 * getopt has said which. */
bool ar_args_globals(int argc, char **argv, struct ar_globals *ret, int *ret_next);

/* Takes what follows the command's name (argv[0] here). */
bool ar_args_command(const struct ar_ctl_command *cmd, int argc, char **argv, struct ar_globals *globals,
		     struct ar_ctl_args *ret);

#endif
