/* See help.h. One thread. */
#include "help.h"
#include "args.h"

static void print_heading(struct ar_out *o, const char *text)
{
	ar_out_style(o, AR_STYLE_BOLD);
	ar_out_printf(o, "\n%s\n", text);
	ar_out_style(o, AR_STYLE_PLAIN);
}

static void print_option(struct ar_out *o, const struct ar_ctl_option *option)
{
	char left[40];

	snprintf(left, sizeof(left), "--%s%s%s", option->name, option->value ? " " : "",
		 option->value ? option->value : "");
	ar_out_printf(o, "  %-20s %s\n", left, option->doc);
}

static void print_globals(struct ar_out *o)
{
	print_heading(o, "Global options");
	for (size_t i = 0; i < ar_global_option_count; i++)
		print_option(o, &ar_global_options[i]);
}

static void print_indented(struct ar_out *o, const char *text)
{
	struct ar_str rest = ar_str_from(text), line;

	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, '\n', &line);
		ar_out_printf(o, "  %.*s\n", AR_STR_ARG(line));
	}
}

void ar_help_overview(struct ar_out *o, const struct ar_ctl_command *const *commands, size_t count)
{
	ar_out_printf(o, "agentctl - client of the agent runtime\n");
	print_heading(o, "Usage");
	print_indented(o, "agentctl [GLOBAL OPTIONS] COMMAND [OPTIONS] [WORDS]");
	print_heading(o, "Commands");
	for (size_t i = 0; i < count; i++)
		ar_out_printf(o, "  %-20s %s\n", commands[i]->name, commands[i]->summary);
	ar_out_printf(o, "  %-20s %s\n", "help [COMMAND]", "this help, or the help of a command");
	print_globals(o);
	print_heading(o, "Environment");
	print_indented(
		o,
		"AGENTCTL_TOKEN       API token, like --token\n"
		"AGENTD_DATA_DIR      data directory (default agentd in XDG_STATE_HOME or ~/.local/state)\n"
		"AGENTD_SOCKET        unix socket (default agentd.sock in the data directory)\n"
		"AGENTD_WORKSPACE     folder of the daemon; run and chat then use it, not the current one\n"
		"OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, AGENTD_PROVIDER, "
		"AGENTD_MODEL\n"
		"                     the model, for a daemon that agentctl starts\n"
		"SSL_CERT_FILE        authorities that verify https servers, like --cacert\n"
		"NO_COLOR             no colours");
	print_heading(o, "Exit status");
	print_indented(o, "0 ok, 1 failed, 2 usage, 3 daemon not reachable, 4 a question waits for a person, "
			  "124 out of time, "
			  "130 interrupted");
	print_heading(o, "Examples");
	print_indented(o, "agentctl run \"Say hello in five words.\"\n"
			  "agentctl run --continue \"And in French?\"\n"
			  "agentctl doctor");
}

void ar_help_command(struct ar_out *o, const struct ar_ctl_command *cmd)
{
	ar_out_printf(o, "agentctl %s - %s\n", cmd->name, cmd->summary);
	print_heading(o, "Usage");
	ar_out_printf(o, "  agentctl %s%s%s%s\n", cmd->name, cmd->options[0].name ? " [OPTIONS]" : "",
		      *cmd->synopsis ? " " : "", cmd->synopsis);
	ar_out_printf(o, "\n");
	print_indented(o, cmd->text);
	if (cmd->options[0].name)
		print_heading(o, "Options");
	for (size_t i = 0; i < AR_CTL_OPTIONS && cmd->options[i].name; i++)
		print_option(o, &cmd->options[i]);
	print_globals(o);
	print_heading(o, "Examples");
	print_indented(o, cmd->examples);
}

/* ---- what was meant ---- */

const char *ar_help_nearest(const char *word, const char *(*name_at)(const void *table, size_t i),
			    const void *table, size_t count)
{
	struct ar_meant n = ar_meant(ar_str_from(word));

	for (size_t i = 0; i < count; i++) {
		if (name_at(table, i))
			ar_meant_try(&n, ar_str_from(name_at(table, i)));
	}
	return n.found.p;
}
