/* `agentctl sandbox check`: what boundaries of commands can be had here. The daemon's own program finds out, whether one runs or not. */
#include "daemon.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static enum ar_exit sandbox(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const char *program = ar_daemon_program(c);
	char *argv[] = { (char *)"agentd", (char *)"sandbox", c->is_json ? (char *)"--json" : NULL, NULL };

	if (strcmp(a->words[0], "check") != 0)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl sandbox check"),
				       "sandbox has no word '%s'", a->words[0]);
	if (!program)
		return ar_ctl_complain(c, AR_EXIT_FAILED,
				       AR_STR("put agentd beside agentctl or into a folder of PATH"),
				       "agentd is not found");
	execv(program, argv);
	return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE, "%s cannot be started: %s", program,
			       strerror(errno));
}

const struct ar_ctl_command ar_cmd_sandbox = {
	.name = "sandbox",
	.synopsis = "check",
	.summary = "which boundaries of commands can be had here",
	.text = "Attacks each mechanism that the boundary of a command is made of (namespaces, Landlock, "
		"seccomp, cgroups, ...), as the user\n"
		"who asks, and prints which work, which profiles can be had, and what to do about what does "
		"not work. Nothing is\n"
		"changed. The exit status is 1 when the profile of the settings cannot be had.",
	.examples = "agentctl sandbox check\n"
		    "agentctl sandbox check --json | jq '.profiles[] | select(.isAvailable | not)'",
	.min = 1,
	.max = 1,
	.run = sandbox,
};
