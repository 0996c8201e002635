/* `agentctl sandbox`: what boundaries of commands can be had here, which the daemon's own program finds
 * out; and git repositories that sandboxed commands may have planted in a workspace, which agent-files
 * lists and disables with the rights of the caller. No daemon is needed. */
#include "api.h"
#include "daemon.h"
#include "files_program.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_WORKSPACE };

static enum ar_exit check(struct ar_ctl *c)
{
	const char *program = ar_daemon_program(c);
	char *argv[] = { (char *)"agentd", (char *)"sandbox", c->is_json ? (char *)"--json" : NULL, NULL };

	if (!program)
		return ar_ctl_complain(c, AR_EXIT_FAILED,
				       AR_STR("put agentd next to agentctl or into a directory of PATH"),
				       "agentd is not found");
	execv(program, argv);
	return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE, "%s cannot be started: %s", program,
			       strerror(errno));
}

static struct ar_str request_of(struct ar_ctl *c, const char *tool, const char *path, const char *workspace)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "tool", ar_str_from(tool));
	ar_jw_mstr(&w, "workspace", ar_str_from(workspace));
	ar_jw_key(&w, "args");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "path", path ? ar_str_from(path) : AR_STR_NONE);
	ar_jw_close(&w);
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &text);
}

static enum ar_exit print_answer(struct ar_ctl *c, struct ar_str text)
{
	struct ar_json_parser *p = ar_json_parser_new();
	enum ar_exit exit = AR_EXIT_FAILED;
	struct ar_json v = { 0 };

	if (ar_json_parse(p, text, &v, NULL) == AR_OK && ar_api_int(v, "outcome") == 1) {
		ar_out_text(&c->out, ar_api_str(v, "text"));
		exit = AR_EXIT_OK;
	} else {
		ar_ctl_complain(c, AR_EXIT_FAILED, ar_api_str(v, "advice"), "%.*s",
				AR_STR_ARG(ar_api_str(v, "message")));
	}
	ar_json_parser_free(p);
	return exit;
}

static enum ar_exit ask_files(struct ar_ctl *c, const char *tool, const char *path, const char *named)
{
	char workspace[PATH_MAX];
	struct ar_str answer;
	enum ar_exit exit;

	if (!realpath(named ? named : ".", workspace))
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("name the directory with --workspace"),
				       "the workspace cannot be found: %s", strerror(errno));
	exit = ar_files_program(c, request_of(c, tool, path, workspace), &answer);
	if (exit != AR_EXIT_OK)
		return exit;
	if (!c->is_json)
		return print_answer(c, answer);
	ar_out_printf(&c->out, "%.*s\n", AR_STR_ARG(answer));
	return AR_EXIT_OK;
}

static enum ar_exit sandbox(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const char *word = a->words[0];

	if (a->count == 1 && strcmp(word, "check") == 0)
		return check(c);
	if (a->count == 1 && strcmp(word, "repositories") == 0)
		return ask_files(c, word, NULL, a->values[OPT_WORKSPACE]);
	if (a->count == 2 && strcmp(word, "quarantine") == 0)
		return ask_files(c, word, a->words[1], a->values[OPT_WORKSPACE]);
	return ar_ctl_complain(c, AR_EXIT_USAGE,
			       AR_STR("agentctl sandbox check | repositories | quarantine PATH"),
			       "sandbox has no '%s', or the number of arguments is wrong", word);
}

const struct ar_ctl_command ar_cmd_sandbox = {
	.name = "sandbox",
	.synopsis = "check | repositories | quarantine PATH",
	.summary = "check the sandbox; list or quarantine planted repositories",
	.text = "check attacks each mechanism of the sandbox (namespaces, Landlock, seccomp, cgroups, ...) "
		"as the current\n"
		"user, and prints which ones work, which profiles are available, and what to do about the "
		"others. It\n"
		"changes nothing. The exit status is 1 if the configured profile is not available.\n"
		"\n"
		"repositories lists the git repositories inside a workspace besides its own. git in one of "
		"them runs the\n"
		"commands that its configuration and hooks name, outside the sandbox.\n"
		"\n"
		"quarantine renames a repository to .git.quarantined-N, and its HEAD, so that git does not "
		"find it; it\n"
		"removes nothing.",
	.examples = "agentctl sandbox check\n"
		    "agentctl sandbox check --json | jq '.profiles[] | select(.isAvailable | not)'\n"
		    "agentctl sandbox repositories --workspace ~/project\n"
		    "agentctl sandbox quarantine vendor/lib/.git --workspace ~/project",
	.min = 1,
	.max = 2,
	.options = { [OPT_WORKSPACE] = { "workspace", "DIR", "the workspace (the current directory)" } },
	.run = sandbox,
};
