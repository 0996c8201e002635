/* `agentctl chat`: the row of the command. The conversation is in chat/. */
#include "chat/chat.h"
#include "question.h"

enum { OPT_SESSION, OPT_CONTINUE, OPT_MODEL, OPT_MODE, OPT_ON_QUESTION };

static enum ar_exit chat(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_chat_options o = { .session = a->values[OPT_CONTINUE] ? "last" : a->values[OPT_SESSION],
				     .model = a->values[OPT_MODEL],
				     .mode = a->values[OPT_MODE] };
	enum ar_exit exit = ar_question_policy(c, a->values[OPT_ON_QUESTION], &o.fails_on_question);

	if (exit != AR_EXIT_OK)
		return exit;
	if (a->values[OPT_CONTINUE] && a->values[OPT_SESSION])
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE,
				       "--continue and --session exclude each other");
	return ar_chat_run(c, &o);
}

const struct ar_ctl_command ar_cmd_chat = {
	.name = "chat",
	.synopsis = "",
	.summary = "talk with the agent: lines in, answers, tools and questions out",
	.text = "Each line is a turn; while one runs, more lines queue. The answer is shown as it comes, "
		"tools "
		"as a line when\n"
		"they start and one when they end, and each turn ends with what it used. A question is "
		"answered "
		"by the next\n"
		"line: y, n, a (always in this session) or e (why it is asked); a form is asked for field by "
		"field.\n"
		"Ctrl-C stops the running turn, twice within a second leaves, Ctrl-D leaves; what runs goes "
		"on. "
		"/help lists the\n"
		"commands. When the connection breaks, it is joined again where it broke.\n"
		"Without a terminal each line of standard input is one turn that is waited for; the exit is "
		"0 "
		"when all\n"
		"completed. A question then ends chat with exit status 4 and stays open; "
		"--on-question=wait waits for its\n"
		"answer, which is also usual when standard error is a terminal. --json prints the events of "
		"the turns.",
	.examples = "agentctl chat\n"
		    "agentctl chat --continue\n"
		    "agentctl chat --session last --mode plan\n"
		    "printf 'Name a colour.\\nAnd another.\\n' | agentctl chat",
	.min = 0,
	.max = 0,
	.options = { [OPT_SESSION] = { "session", "SESSION", "go on with this session" },
		     [OPT_CONTINUE] = { "continue", NULL, "go on with the newest session" },
		     [OPT_MODEL] = { "model", "NAME", "model of the turns" },
		     [OPT_MODE] = { "mode", "MODE",
				    "permission mode of the turns, such as plan or untrusted" },
		     [OPT_ON_QUESTION] = { "on-question", "WHAT",
					   "without a terminal: fail or wait (as run)" } },
	.run = chat,
};
