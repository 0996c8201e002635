/* See acp.h: the command and its loop. */
#include "acp/acp.h"
#include "workspace/workspace.h"

#include <signal.h>
#include <unistd.h>

enum { OPT_WORKSPACE, OPT_IGNORE_SERVERS, OPT_SETUP };

static void live(struct ar_acp *a)
{
	while (!a->is_over) {
		struct ar_http_watch watches[AR_HTTP_WATCHES] = { { .fd = STDIN_FILENO } };
		size_t count = 1 + ar_acp_servers_watch(a, watches + 1, AR_HTTP_WATCHES - 1);

		ar_http_set_wait(a->set, watches, count, ar_acp_streams_due(a));
		if (watches[0].is_readable)
			ar_acp_read(a);
		ar_acp_servers_read(a);
		ar_acp_prompts_due(a);
		ar_acp_flush(a);
		ar_arena_reset(&a->ctl->arena);
	}
}

/* The editor is gone; its turns go on. */
static void fini(struct ar_acp *a)
{
	for (size_t i = 0; i < AR_ACP_SESSIONS; i++) {
		if (a->sessions[i])
			ar_acp_session_free(a->sessions[i]);
	}
	ar_http_set_free(a->set);
	ar_json_parser_free(a->parser);
	ar_buf_fini(&a->in);
	ar_buf_fini(&a->out);
	ar_arena_fini(&a->ctl->arena);
}

static enum ar_exit acp(struct ar_ctl *c, const struct ar_ctl_args *args)
{
	struct ar_ctl own = *c;
	struct ar_acp a = { .ctl = &own,
			    .workspace = args->values[OPT_WORKSPACE],
			    .ignores_servers = args->values[OPT_IGNORE_SERVERS] };

	if (args->values[OPT_SETUP])
		return ar_cmd_setup.run(c, &(struct ar_ctl_args){ 0 });
	if (a.workspace && !ar_workspace_is_id(a.workspace))
		return ar_ctl_complain(
			c, AR_EXIT_USAGE, AR_STR("agentctl workspace list lists them"),
			"--workspace is the id of a workspace; without it the editor names the "
			"folder");
	own.arena = (struct ar_arena){ 0 };
	a.set = ar_http_set_new();
	a.parser = ar_json_parser_new();
	signal(SIGPIPE, SIG_IGN); /* an editor that is gone is the end of standard output */
	live(&a);
	fini(&a);
	return AR_EXIT_OK;
}

const struct ar_ctl_command ar_cmd_acp = {
	.name = "acp",
	.synopsis = "",
	.summary = "serve an editor by the Agent Client Protocol",
	.text = "Reads JSON-RPC messages from standard input and writes them to standard output, a line "
		"each, as\n"
		"editors expect of an agent (Agent Client Protocol, version 1). Editors start it; "
		"docs/editors.md has\n"
		"the settings of Zed, JetBrains, Neovim and Emacs. Sessions are those of the daemon, which "
		"is started if\n"
		"none runs: closing the editor ends no turn, and the editor can load a session again. A "
		"session works in\n"
		"the folder that the editor names. Questions go to the editor and to `agentctl inbox`; the "
		"first answer\n"
		"counts. Commands run in the sandbox of the daemon, never in a terminal of the editor.\n",
	.examples = "agentctl acp\n"
		    "agentctl acp --url https://agents.example.com:7717 --workspace "
		    "ws_01hzy3v9k2e4x8m6q0r5t7w9a1\n"
		    "agentctl acp --setup",
	.options = { [OPT_WORKSPACE] = { "workspace", "ID",
					 "sessions work in this workspace, not in the folder of the editor" },
		     [OPT_IGNORE_SERVERS] = { "ignore-mcp-servers", NULL,
					      "start no MCP servers that the editor names" },
		     [OPT_SETUP] = { "setup", NULL, "choose the model on this terminal, as setup does" } },
	.run = acp,
};
