/* `agentctl task`: tasks are created, listed, drawn, shown and changed. The parts are beside it. */
#include "task/task.h"

#include <string.h>

static enum ar_exit task(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const char *act = a->words[0];
	enum ar_exit exit;

	if (strcmp(act, "graph") == 0)
		return ar_task_graph(c, a);
	if (strcmp(act, "list") == 0)
		return ar_task_list(c, a->count > 1 ? a->words[1] : NULL, a->values[TASK_ALL]);
	if (strcmp(act, "create") == 0 && a->count == 2)
		return ar_task_create(c, a);
	if (strcmp(act, "show") == 0 && a->count == 2)
		return ar_task_show(c, ar_str_from(a->words[1]));
	if (strcmp(act, "wait") == 0 && a->count == 2)
		return ar_task_wait(c, ar_str_from(a->words[1]), a->values[TASK_TIMEOUT]);
	if (ar_task_change(c, a, &exit))
		return exit;
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl task --help"),
			       "task needs graph or list and a session, create and an objective, or another "
			       "act and the id of a task");
}

const struct ar_ctl_command ar_cmd_task = {
	.name = "task",
	.synopsis =
		"graph|list [SESSION] | create OBJECTIVE | show|wait|start|pause|resume|retry|cancel|archive "
		"TASK",
	.summary = "create, list, draw and control tasks",
	.text = "graph draws each task under the first task that it waits for or is a part of, with its\n"
		"state; what else it waits for stands behind it. Without SESSION the newest. Where the\n"
		"terminal has no UTF-8, and with --ascii, only plain characters are used.\n"
		"list prints the open tasks of all sessions, newest session first, or the tasks of one; "
		"--all\n"
		"adds those that ended.\n"
		"create makes a task in the newest session, or in --session, and starts it: an agent works "
		"for\n"
		"OBJECTIVE, or --command runs in the sandbox. With --after it begins when those tasks are "
		"completed.\n"
		"--check and --person say what has to hold before it is completed. It prints the id. "
		"TASK is\n"
		"such an id. retry tries one again that failed, cancel ends one with its parts. wait ends "
		"with "
		"0 when\n"
		"it is completed, with 1 when it ended otherwise.",
	.examples =
		"agentctl task create 'Make the build green' --check 'make test' --attempts 3\n"
		"agentctl task create 'Write the release notes' --after task_01jbq8m3k2v4x6z8a0c2e4g6j8_1 "
		"--deliver file:NOTES.md\n"
		"agentctl task create 'Nightly tests' --command 'make test'\n"
		"agentctl task wait task_01jbq8m3k2v4x6z8a0c2e4g6j8_1 --timeout 30m\n"
		"agentctl task show task_01jbq8m3k2v4x6z8a0c2e4g6j8_1\n"
		"agentctl task cancel task_01jbq8m3k2v4x6z8a0c2e4g6j8_1 --reason 'not needed'\n"
		"agentctl task graph last\n"
		"agentctl task list --all --json",
	.min = 1,
	.max = 2,
	.options = { [TASK_ALL] = { "all", NULL,
				    "graph: also internal tasks of turns, and hidden ones; list: ended "
				    "ones" },
		     [TASK_ASCII] = { "ascii", NULL, "plain characters only" },
		     [TASK_SESSION] = { "session", "SESSION", "create: session of the task" },
		     [TASK_TITLE] = { "title", "TEXT", "create: name to show" },
		     [TASK_AFTER] = { "after", "TASK,...", "create: tasks that it waits for" },
		     [TASK_CHECK] = { "check", "COMMAND", "create: has to exit with 0" },
		     [TASK_PERSON] = { "person", "TEXT", "create: what a person has to agree to" },
		     [TASK_COMMAND] = { "command", "COMMAND", "create: the work, without a model" },
		     [TASK_ATTEMPTS] = { "attempts", "N", "create: tried again by itself, up to so often" },
		     [TASK_MODEL] = { "model", "MODEL", "create: model of its turns" },
		     [TASK_MODE] = { "mode", "MODE", "create: permission mode of its turns" },
		     [TASK_DELIVER] = { "deliver", "KIND:TARGET",
					"create: where the result goes, such as file:NOTES.md or "
					"webhook:ci" },
		     [TASK_HOLD] = { "hold", NULL, "create: start it later" },
		     [TASK_KEY] = { "key", "KEY", "create: makes a repeat safe" },
		     [TASK_REASON] = { "reason", "TEXT", "pause, resume, retry, cancel, archive" },
		     [TASK_TIMEOUT] = { "timeout", "SPAN", "wait: at most so long, such as 10m" } },
	.run = task,
};
