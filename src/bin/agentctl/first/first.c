/* See first.h. Every answer becomes a variable that the daemon is started with, is printed, and is kept for
 * the next daemon once the model has been tried. */
#include "first/first.h"
#include "daemon.h"
#include "first/boundary.h"
#include "first/kept.h"
#include "first/trial.h"
#include "model.h"

#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define LINE_BYTES 512

static void set_variable(struct ar_ctl *c, struct ar_kept *kept, const char *variable, const char *value)
{
	setenv(variable, value, 1);
	kept->at[kept->count].variable = variable;
	kept->at[kept->count++].value = value;
	ar_ctl_note(c, "%s=%s", variable, strstr(variable, "_KEY") ? "..." : value);
}

/* A line of standard input without its end; false: there is none. */
static bool read_line(char line[LINE_BYTES])
{
	size_t len = 0;
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1) {
		if (byte == '\n') {
			line[len] = '\0';
			return true;
		}
		if (len + 1 < LINE_BYTES)
			line[len++] = byte;
	}
	return false;
}

/* ---- a server of this machine ---- */

static bool choose_model(struct ar_ctl *c, const struct ar_first_server *s, struct ar_kept *kept)
{
	char line[LINE_BYTES];
	size_t chosen;

	ar_out_printf(&c->out, "%s at 127.0.0.1:%u has %zu model%s. Nothing leaves this machine.\n\n",
		      s->name, s->port, s->count, s->count == 1 ? "" : "s");
	for (size_t i = 0; i < s->count; i++) {
		ar_out_printf(&c->out, "  %zu  ", i + 1);
		ar_out_line(&c->out, s->models[i]);
		ar_out_printf(&c->out, "\n");
	}
	ar_out_printf(&c->out, "\nWhich one? [1, n for none] ");
	fflush(c->out.file);
	c->out.is_midline = false; /* the terminal shows the end of the answer */
	if (!read_line(line) || line[0] == 'n')
		return false;
	chosen = line[0] >= '1' && line[0] <= '9' ? (size_t)(line[0] - '1') : 0;
	chosen = chosen < s->count ? chosen : 0;
	set_variable(c, kept, "OPENAI_BASE_URL",
		     ar_arena_fmt(&c->arena, "http://127.0.0.1:%u/v1", s->port).p);
	set_variable(c, kept, "AGENTD_MODEL", s->models[chosen].p);
	return true;
}

/* ---- an address or a key ---- */

static const struct {
	const char *begin, *variable;
} keys[] = {
	{ "http://", "OPENAI_BASE_URL" },   { "https://", "OPENAI_BASE_URL" },
	{ "sk-ant-", "ANTHROPIC_API_KEY" }, { "AIza", "GEMINI_API_KEY" },
	{ "", "OPENAI_API_KEY" },
};

/* What is typed may be a key: the terminal does not show it. What was typed before the question is dropped,
 * nothing after it. */
static bool read_hidden(struct ar_ctl *c, const char *question, char line[LINE_BYTES])
{
	struct termios before, hidden;
	bool is_hidden = tcgetattr(STDIN_FILENO, &before) == 0, is_read;

	hidden = before;
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	if (is_hidden)
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
	ar_out_printf(&c->out, "%s", question);
	fflush(c->out.file);
	is_read = read_line(line);
	if (is_hidden)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	return is_read;
}

static bool ask_for_model(struct ar_ctl *c, struct ar_kept *kept)
{
	char line[LINE_BYTES];
	size_t i = 0;

	ar_out_printf(
		&c->out,
		"There is no model yet. There is no key (OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY), "
		"no\nOPENAI_BASE_URL, and no server on this machine (ollama, llama.cpp, LM Studio, "
		"vLLM). agentctl demo shows the terminal without one.\n\n");
	if (!read_hidden(c, "A key, or the address of a server with /v1/chat/completions; Enter leaves: ",
			 line) ||
	    !line[0])
		return false;
	ar_out_printf(&c->out, "\n");
	while (strncmp(line, keys[i].begin, strlen(keys[i].begin)) != 0)
		i++;
	set_variable(c, kept, keys[i].variable, ar_ctl_strdup(c, ar_str_from(line)));
	return true;
}

/* ---- all of it ---- */

/* A settings file may name models; a daemon that runs has its own. */
static bool needs_model(struct ar_ctl *c)
{
	return !ar_kept_is_overridden(c) && c->socket && !ar_daemon_answers(c);
}

/* An answer that does not work is not kept. */
static enum ar_exit choose(struct ar_ctl *c)
{
	struct ar_first_server server;
	struct ar_kept kept = { .count = 0 };
	enum ar_exit exit;

	if (!(ar_first_find(c, &server) && choose_model(c, &server, &kept)) && !ask_for_model(c, &kept))
		return ar_ctl_complain(c, AR_EXIT_USAGE,
				       AR_STR("set OPENAI_BASE_URL or a key, then: agentctl"),
				       "there is no model to work with");
	exit = ar_trial_run(c);
	return exit == AR_EXIT_OK ? ar_kept_save(c, &kept) : exit;
}

static enum ar_exit work_here(struct ar_ctl *c, const struct ar_ctl_args *a AR_UNUSED)
{
	enum ar_exit exit = needs_model(c) ? choose(c) : AR_EXIT_OK;

	if (exit == AR_EXIT_OK)
		exit = ar_daemon_ensure(c);
	if (exit == AR_EXIT_OK)
		ar_boundary_print(c);
	return exit == AR_EXIT_OK ? ar_cmd_chat.run(c, &(struct ar_ctl_args){ 0 }) : exit;
}

const struct ar_ctl_command ar_cmd_here = {
	.name = "chat",
	.synopsis = "",
	.summary = "work in this folder",
	.text = "",
	.examples = "",
	.run = work_here,
};

/* ---- agentctl setup ---- */

static enum ar_exit set_up(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_model_endpoint m;
	enum ar_exit exit;

	if (a->values[0])
		return ar_kept_remove(c);
	if (getenv("AGENTD_CONFIG"))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("change that file, then: agentctl stop"),
				       "the settings file %s names the models", getenv("AGENTD_CONFIG"));
	if (ar_model_endpoint(c, &m)) {
		ar_ctl_note(c, "%s comes from the environment, which is used before answers that are kept",
			    getenv(m.url_variable) ? m.url_variable : m.key_variable);
		return ar_trial_run(c);
	}
	if (!isatty(STDIN_FILENO))
		return ar_ctl_complain(c, AR_EXIT_USAGE,
				       AR_STR("run it on a terminal, or set OPENAI_BASE_URL or a key"),
				       "setup asks questions");
	exit = choose(c);
	if (exit == AR_EXIT_OK && ar_daemon_answers(c))
		ar_ctl_note(c, "the daemon that runs goes on with what it was started with: agentctl stop, "
			       "then agentctl");
	return exit;
}

const struct ar_ctl_command ar_cmd_setup = {
	.name = "setup",
	.synopsis = "",
	.summary = "choose the model and keep the choice",
	.text = "Looks for model servers on this machine (ollama, llama.cpp, LM Studio, vLLM), else asks for "
		"a\n"
		"key or an address. Tries the model once, with a tool to call. What works is kept in\n"
		"agentd/environment in XDG_CONFIG_HOME or ~/.config, which only you can read, and used by\n"
		"daemons that agentctl starts. Variables of the environment and a settings file come "
		"first.\n",
	.examples = "agentctl setup\n"
		    "agentctl setup --forget\n",
	.options = { { "forget", NULL, "remove what was kept" } },
	.run = set_up,
};
