/* `agentctl chat`: the row of the command. The conversation is in chat/. */
#include "chat/chat.h"
#include "question.h"
#include "term/term.h"

enum {
	OPT_SESSION,
	OPT_CONTINUE,
	OPT_MODEL,
	OPT_MODE,
	OPT_ON_QUESTION,
	OPT_WORKSPACE,
	OPT_NO_WORKSPACE,
	OPT_TRUST,
	OPT_ISOLATION,
	OPT_PLAIN,
	OPT_RESUME
};

static enum ar_exit chat(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_chat_options o = { .session = a->values[OPT_SESSION],
				     .workspace = { .word = a->values[OPT_WORKSPACE],
						    .is_off = a->values[OPT_NO_WORKSPACE],
						    .is_continued =
							    a->values[OPT_CONTINUE] || a->values[OPT_RESUME],
						    .trusts = a->values[OPT_TRUST],
						    .isolation = a->values[OPT_ISOLATION] },
				     .model = a->values[OPT_MODEL],
				     .mode = a->values[OPT_MODE],
				     .is_plain = a->values[OPT_PLAIN],
				     .picks = a->values[OPT_RESUME] };
	enum ar_exit exit = ar_question_policy(c, a->values[OPT_ON_QUESTION], &o.fails_on_question);

	if (exit != AR_EXIT_OK)
		return exit;
	if (a->values[OPT_CONTINUE] && a->values[OPT_SESSION])
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE,
				       "--continue and --session exclude each other");
	if (o.picks && (a->values[OPT_CONTINUE] || a->values[OPT_SESSION]))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("leave one of them out"),
				       "--resume and --%s exclude each other",
				       a->values[OPT_SESSION] ? "session" : "continue");
	if (o.picks && (o.is_plain || !ar_term_is_possible(c)))
		return ar_ctl_complain(c, AR_EXIT_USAGE,
				       AR_STR("agentctl sessions lists them, agentctl chat --session ID "
					      "continues one"),
				       "--resume shows a list to choose from and needs a terminal");
	exit = ar_workspace_check(c, &o.workspace, o.session);
	return exit == AR_EXIT_OK ? ar_chat_run(c, &o) : exit;
}

const struct ar_ctl_command ar_cmd_chat = {
	.name = "chat",
	.synopsis = "",
	.summary = "chat with the agent in the terminal",
	.text = "Each text is a turn; while one runs, more queue. The answer is streamed as Markdown, "
		"commands and edits\n"
		"are cards, and each turn ends with its usage. A question is answered by a key: y, n, a "
		"(always in this\n"
		"session) or e (explain); a form is asked field by field. Esc or Ctrl-C interrupts the "
		"running turn,\n"
		"Ctrl-C twice within a second exits, Ctrl-D exits; running work continues. /help lists the "
		"commands, /keys\n"
		"the keys. --plain prints lines and draws nothing, as a terminal that is dumb does.\n"
		"A dropped connection resumes from the last event received.\n"
		"Without a terminal each line of standard input is one turn, one after the other; the exit "
		"status is 0 if\n"
		"all completed. A question then ends chat with exit status 4 and stays open; "
		"--on-question=wait waits for\n"
		"its answer, which is the default if standard error is a terminal. --json prints the events "
		"of the turns.\n"
		"New sessions work in the current folder, as those of run do.",
	.examples = "agentctl chat\n"
		    "agentctl chat --continue\n"
		    "agentctl chat --resume\n"
		    "agentctl chat --session last --mode plan\n"
		    "printf 'Name a colour.\\nAnd another.\\n' | agentctl chat",
	.min = 0,
	.max = 0,
	.options = { [OPT_SESSION] = { "session", "SESSION", "continue this session" },
		     [OPT_CONTINUE] = { "continue", NULL, "continue the newest session of the workspace" },
		     [OPT_MODEL] = { "model", "NAME", "model of the turns" },
		     [OPT_MODE] = { "mode", "MODE",
				    "permission mode of the turns, such as plan or untrusted" },
		     [OPT_ON_QUESTION] = { "on-question", "WHAT",
					   "without a terminal: fail or wait (like run)" },
		     [OPT_WORKSPACE] = { "workspace", "WORKSPACE",
					 "work in this folder or workspace (the current folder)" },
		     [OPT_NO_WORKSPACE] = { "no-workspace", NULL, "work in the daemon's own folder, if any" },
		     [OPT_TRUST] = { "trust", NULL, "trust what the folder brings, without a question" },
		     [OPT_ISOLATION] = { "isolation", "KIND",
					 "what a new session shares with the workspace: shared, copy, empty, "
					 "worktree, overlay" },
		     [OPT_PLAIN] = { "plain", NULL, "print lines, draw nothing" },
		     [OPT_RESUME] = { "resume", NULL, "choose a session of the workspace from a list" } },
	.run = chat,
};
