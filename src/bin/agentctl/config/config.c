/* `agentctl config show`: the settings in force and where each came from. A daemon that runs is asked;
 * without one agentd's own program says what it would start with. */
#include "api.h"
#include "daemon.h"
#include "io/start_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void print_rows(struct ar_ctl *c, const struct ar_api_reply *r)
{
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(r->doc, "settings")); ar_json_next(&it);) {
		struct ar_str source = ar_api_str(it.value, "source");
		struct ar_buf value = { 0 };

		ar_json_print(ar_json_get(it.value, "value"), &value);
		ar_out_printf(&c->out, "%-32.*s ", AR_STR_ARG(ar_api_str(it.value, "key")));
		ar_out_line(&c->out, ar_buf_str(&value));
		ar_out_printf(&c->out, "%*s %.*s%s", value.len < 28 ? (int)(28 - value.len) : 0, "",
			      AR_STR_ARG(ar_api_str(it.value, "origin")), ar_str_absent(source) ? "" : " ");
		ar_out_line(&c->out, source);
		ar_out_printf(&c->out, "\n");
		ar_buf_fini(&value);
	}
}

/* What a daemon that is started now would have. */
static enum ar_exit ask_program(struct ar_ctl *c)
{
	const char *program = ar_daemon_program(c);
	struct ar_start_file last = { 0 };
	char *argv[] = { (char *)"agentd",
			 (char *)"settings",
			 (char *)"--data-dir",
			 (char *)c->data_dir,
			 c->is_json ? (char *)"--json" : NULL,
			 NULL };

	if (!program)
		return ar_ctl_complain(c, AR_EXIT_FAILED,
				       AR_STR("put agentd next to agentctl or into a directory of PATH"),
				       "agentd is not found");
	if (!c->data_dir)
		argv[2] = NULL;
	ar_ctl_note(c, "no daemon answers; these are the settings that one would start with");
	execve(program, argv, ar_daemon_environ(c, &last));
	return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE, "%s cannot be started: %s", program,
			       strerror(errno));
}

static enum ar_exit config(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };

	if (strcmp(a->words[0], "show") != 0)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl config show"), "config has no '%s'",
				       a->words[0]);
	if (c->socket && !ar_daemon_answers(c))
		return ask_program(c);
	ar_buf_addz(&body, "{}");
	return ar_api_show(c, "get_settings", &body, print_rows);
}

const struct ar_ctl_command ar_cmd_config = {
	.name = "config",
	.synopsis = "show",
	.summary = "show the settings in force and their sources",
	.text = "Prints each setting of the daemon, its value, and the source of the value: the default, a "
		"line of the\n"
		"settings file, a variable, a command-line option, or the machine. Secrets are redacted. If "
		"no daemon\n"
		"answers, it shows the settings that a daemon would start with from here. `agentd check` "
		"lists the\n"
		"mistakes in a settings file.",
	.examples = "agentctl config show\n"
		    "agentctl config show --json | jq '.settings[] | select(.origin != \"default\")'",
	.min = 1,
	.max = 1,
	.run = config,
};
