/* `agentctl demo`: the terminal, the daemon and the sandbox as they are, with a model whose answers are
 * recorded, in a folder that is thrown away. One thread. */
#include "api.h"
#include "chat/chat.h"
#include "daemon.h"
#include "first/boundary.h"
#include "first/throwaway.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORD_MS 15 /* between two words: an answer is seen to come */

/* ---- the answers ---- */

struct answer {
	const char *text;
	struct ar_recorded_call calls[2];
};

#define LAST \
	"The recorded answers end here. Ctrl-D leaves; nothing of this demo stays. `agentctl` begins with " \
	"a " \
	"model of yours."

static const struct answer work[] = {
	{ "I read the program and run its test.",
	  { { AR_STR("read_file"), AR_STR("{\"path\":\"price.sh\"}") },
	    { AR_STR("shell"), AR_STR("{\"command\":\"sh test.sh\"}") } } },
	{ "The discount is never taken off. I correct that and run the test again.",
	  { { AR_STR("edit_file"),
	      AR_STR("{\"path\":\"price.sh\",\"oldText\":\"echo \\\"$sum\\\"\",\"newText\":\"echo "
		     "\\\"$((sum - sum / 10))\\\"\"}") } } },
	{ "", { { AR_STR("shell"), AR_STR("{\"command\":\"sh test.sh\"}") } } },
	{ "The test passes. I also want to remove the old build folder. A command that deletes folders asks "
	  "you "
	  "first.",
	  { { AR_STR("shell"), AR_STR("{\"command\":\"rm -rf build\"}") } } },
	{ "**Done.** `price.sh` takes 10 % off, and its test passes.\n\n"
	  "- Type `/undo` to take the changes of the files back.\n"
	  "- Type anything else for the last recorded answer, or Ctrl-D to leave.\n",
	  { { AR_STR_NONE, AR_STR_NONE } } },
};
static const struct answer last = { .text = LAST };

/* ---- which answer ---- */

/* By how far the conversation is: how many messages the person sent, and how many answers came since the last
 * of them. */
static struct ar_recorded_answer answer_to(void *arg AR_UNUSED, struct ar_str turn AR_UNUSED,
					   struct ar_json request)
{
	size_t people = 0, answers = 0;
	const struct answer *a;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(request, "messages")); ar_json_next(&it);) {
		struct ar_str role = ar_api_str(it.value, "role");

		if (ar_str_is(role, "user")) {
			people++;
			answers = 0;
		}
		answers += ar_str_is(role, "assistant");
	}
	a = people > 1 || answers >= AR_ARRAY_LEN(work) ? &last : &work[answers];
	return (struct ar_recorded_answer){ .text = ar_str_from(a->text),
					    .calls = a->calls,
					    .count = (size_t)!ar_str_absent(a->calls[0].tool) +
						     (size_t)!ar_str_absent(a->calls[1].tool),
					    .word_ms = WORD_MS };
}

/* ---- the folder ---- */

static const struct {
	const char *name, *text;
} files[] = {
	{ "price.sh", "# The sum of the arguments, less 10 %.\n"
		      "sum=0\n"
		      "for item in \"$@\"; do sum=$((sum + item)); done\n"
		      "echo \"$sum\"\n" },
	{ "test.sh", "got=$(sh price.sh 600 400)\n"
		     "[ \"$got\" = 900 ] && echo \"1 test passed\" && exit 0\n"
		     "echo \"expected 900, got $got\"\n"
		     "exit 1\n" },
	{ "build/price.old", "of the last build\n" },
};

static bool write_file(int folder, const char *name, const char *text)
{
	FILE *file;
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || (geteuid() == 0 && fchown(fd, AR_THROWAWAY_NOBODY, AR_THROWAWAY_NOBODY) != 0) ||
	    !(file = fdopen(fd, "w")))
		return false;
	fputs(text, file);
	return fclose(file) == 0;
}

static bool make_project(const struct ar_throwaway *t)
{
	int fd = open(t->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is_ok = fd >= 0 && ar_throwaway_make_folder(fd, "build");

	for (size_t i = 0; is_ok && i < AR_ARRAY_LEN(files); i++)
		is_ok = write_file(fd, files[i].name, files[i].text);
	if (fd >= 0)
		close(fd);
	return is_ok;
}

/* ---- the command ---- */

static enum ar_exit show(struct ar_ctl *c, const struct ar_throwaway *t, bool is_plain)
{
	enum ar_exit exit;

	ar_out_printf(
		&c->out,
		"A demo: the answers of the model are recorded, all else is real. No network; everything "
		"is in\n%s and is removed when you leave.\n"
		"Type a request, for example: Make the test pass.\n\n",
		t->dir);
	exit = ar_daemon_ensure(c);
	if (exit != AR_EXIT_OK)
		return exit;
	ar_boundary_print(c);
	return ar_chat_run(c, &(struct ar_chat_options){ .is_plain = is_plain });
}

static enum ar_exit demo(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_throwaway t = { .name = "demo" };
	enum ar_exit exit;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("run it on a terminal"),
				       "somebody has to type in the demo");
	if (!ar_throwaway_begin(c, &t, answer_to, NULL) || !make_project(&t))
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("check the space of /tmp"),
				       "the demo cannot be set up: %s", strerror(errno));
	exit = show(c, &t, a->values[0]);
	ar_throwaway_end(&t);
	ar_ctl_note(c, "the demo is over, nothing of it stays");
	return exit;
}

const struct ar_ctl_command ar_cmd_demo = {
	.name = "demo",
	.synopsis = "",
	.summary = "try the terminal without a model",
	.text = "Starts a daemon in a temporary folder with a small project, and a chat with a model whose "
		"answers are\n"
		"recorded: it reads a file, runs a test in the sandbox, edits, asks about a command that "
		"cannot be undone,\n"
		"and its edits can be taken back with /undo. Everything but the answers is real. It needs no "
		"model, no key\n"
		"and no network. When you leave (Ctrl-D), the daemon is stopped and the folder removed.",
	.examples = "agentctl demo\n"
		    "agentctl demo --plain",
	.is_offline = true,
	.options = { { "plain", NULL, "print lines, draw nothing" } },
	.run = demo,
};
