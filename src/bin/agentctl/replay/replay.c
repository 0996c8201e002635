/* `agentctl replay`: a recorded case once more, against its recorded answers, in a daemon and a workspace
 * that are thrown away. What is compared are facts. One thread; the model is a process of its own. */
#include "replay/replay.h"
#include "daemon.h"
#include "mem.h"
#include "resolve.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CASE_MAX ((size_t)64 << 20)

enum { OPT_FILES };

extern char **environ;

/* ---- the case ---- */

static enum ar_exit read_file(struct ar_ctl *c, const char *path, struct ar_buf *ret)
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	char piece[65536];
	size_t n;

	if (!file)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE, "'%s' cannot be read: %s", path,
				       strerror(errno));
	while (ret->len <= CASE_MAX && (n = fread(piece, 1, sizeof(piece), file)) > 0)
		ar_buf_add(ret, piece, n);
	if (file != stdin)
		fclose(file);
	if (ret->len > CASE_MAX)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE, "'%s' is larger than 64 MiB", path);
	return AR_EXIT_OK;
}

static enum ar_exit check_case(struct ar_ctl *c, const char *path, struct ar_case *k)
{
	if (!ar_str_is(ar_api_str(k->doc, "type"), "agentruntime.case/1"))
		return ar_ctl_complain(c, AR_EXIT_USAGE,
				       AR_STR("make one with: agentctl export SESSION --format replay"),
				       "'%s' is not a case", path);
	if (ar_api_int(k->doc, "childAgents") > 0)
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE,
				       "cases with child agents cannot be run again");
	k->turns = ar_json_get(k->doc, "turns");
	if (ar_json_len(k->turns) == 0)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE, "the case has no turn");
	return AR_EXIT_OK;
}

/* ---- the place ---- */

static bool run_program(char **argv)
{
	pid_t pid;
	int status = 0;

	return posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0 &&
	       waitpid(pid, &status, 0) == pid && status == 0;
}

/* Before anything runs in it. */
static enum ar_exit copy_files(struct ar_ctl *c, const char *from, const char *project)
{
	char *copy[] = { "cp", "-RP", "--", (char *)ar_arena_fmt(&c->arena, "%s/.", from).p, (char *)project,
			 NULL };
	char *owner[] = { "chown", "-RhP", "65534:65534", "--", (char *)project, NULL };

	if (!run_program(copy) || (geteuid() == 0 && !run_program(owner)))
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("check the folder that --files names"),
				       "the files cannot be copied");
	return AR_EXIT_OK;
}

static enum ar_exit make_session(struct ar_ctl *c, const char *project, bool has_workspace,
				 struct ar_str *ret)
{
	struct ar_api_reply reply = { 0 };
	struct ar_str body = AR_STR("{}"), id;
	enum ar_exit exit = AR_EXIT_OK;

	if (has_workspace) {
		exit = ar_api_call(c, "create_workspace", ar_resolve_body(c, "root", ar_str_from(project)),
				   &reply);
		id = ar_api_str(ar_json_get(reply.doc, "workspace"), "workspaceId");
		body = exit == AR_EXIT_OK ? ar_resolve_body(c, "workspaceId", id) : body;
		ar_api_fini(&reply);
	}
	if (exit != AR_EXIT_OK)
		return exit;
	exit = ar_api_call(c, "create_session", body, &reply);
	*ret = ar_arena_str(&c->arena, ar_api_str(reply.doc, "sessionId"));
	ar_api_fini(&reply);
	return exit;
}

/* ---- the result ---- */

/* The session as a case of its own. */
static enum ar_exit read_back(struct ar_ctl *c, struct ar_str session, char **ret_text, size_t *ret_len)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_resolve_read(c, ar_ctl_strdup(c, session), &reply);
	int64_t until = ar_api_int(reply.doc, "asOfSequence");
	FILE *file = open_memstream(ret_text, ret_len);

	ar_api_fini(&reply);
	if (exit == AR_EXIT_OK)
		exit = ar_export_session(c, "replay", session, until, file);
	fclose(file);
	return exit;
}

static enum ar_exit show_result(struct ar_ctl *c, const struct ar_case *k, struct ar_str session)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json now;
	char *text = NULL;
	size_t len = 0, differ, facts = 0;
	enum ar_exit exit = read_back(c, session, &text, &len);

	if (exit == AR_EXIT_OK && ar_json_parse(parser, (struct ar_str){ text, len }, &now, NULL) == AR_OK) {
		differ = ar_case_compare(c, k->doc, now);
		for (struct ar_json_iter it = ar_json_iter(k->turns); ar_json_next(&it);)
			facts += ar_json_len(ar_json_get(it.value, "facts"));
		ar_out_printf(&c->out, "%zu turns, %zu facts: ", ar_json_len(k->turns), facts);
		ar_out_printf(&c->out, differ ? "%zu differences\n" : "equal\n", differ);
		exit = differ ? AR_EXIT_FAILED : AR_EXIT_OK;
	}
	ar_json_parser_free(parser);
	ar_free(text);
	return exit;
}

/* ---- the command ---- */

static enum ar_exit run_in(struct ar_ctl *c, const struct ar_case *k, const char *files,
			   const struct ar_throwaway *t)
{
	struct ar_str mode = ar_api_str(k->doc, "permissionMode"), session;
	enum ar_exit exit = files ? copy_files(c, files, t->project) : AR_EXIT_OK;
	bool has_workspace = false;

	ar_json_bool(ar_json_get(k->doc, "hasWorkspace"), &has_workspace);
	if (!ar_str_absent(mode))
		setenv("AGENTD_PERMISSION_MODE", ar_ctl_strdup(c, mode), 1);
	if (exit == AR_EXIT_OK)
		exit = ar_daemon_ensure(c);
	if (exit == AR_EXIT_OK)
		exit = make_session(c, t->project, has_workspace, &session);
	if (exit == AR_EXIT_OK)
		exit = ar_case_run(c, k, session);
	return exit == AR_EXIT_OK ? show_result(c, k, session) : exit;
}

static enum ar_exit run_case(struct ar_ctl *c, struct ar_case *k, const char *files)
{
	struct ar_throwaway t = { .name = "replay" };
	enum ar_exit exit;

	if (!ar_throwaway_begin(c, &t, ar_case_answer, k))
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("check the space of /tmp"),
				       "the case cannot be set up: %s", strerror(errno));
	exit = run_in(c, k, files, &t);
	ar_throwaway_end(&t);
	return exit;
}

static enum ar_exit replay(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_case k = { 0 };
	struct ar_buf text = { 0 };
	char folder[PATH_MAX];
	const char *files = a->values[OPT_FILES];
	enum ar_exit exit = read_file(c, a->words[0], &text);

	if (exit == AR_EXIT_OK && files && !realpath(files, folder))
		exit = ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE, "'%s' is not a folder: %s", files,
				       strerror(errno));
	if (exit == AR_EXIT_OK && ar_json_parse(parser, ar_buf_str(&text), &k.doc, NULL) != AR_OK)
		k.doc = (struct ar_json){ 0 };
	if (exit == AR_EXIT_OK)
		exit = check_case(c, a->words[0], &k);
	if (exit == AR_EXIT_OK)
		exit = run_case(c, &k, files ? folder : NULL);
	ar_free(k.calls);
	ar_json_parser_free(parser);
	ar_buf_fini(&text);
	return exit;
}

const struct ar_ctl_command ar_cmd_replay = {
	.name = "replay",
	.synopsis = "FILE",
	.summary = "run a recorded case again and compare the facts",
	.text = "Runs the inputs of a case in a daemon, a workspace and a folder of its own, all of them "
		"temporary. The model\n"
		"gives the recorded answers; tools run for real in the sandbox, and questions are answered "
		"as "
		"they were.\n"
		"Each recorded fact that is another one now is named, and the exit is 1. Only members that "
		"the file has\n"
		"are compared: delete what need not be equal. FILE - is standard input.",
	.examples = "agentctl export last --format replay > case.json\n"
		    "agentctl replay case.json --files ./project-as-it-was",
	.min = 1,
	.max = 1,
	.is_offline = true,
	.options = { [OPT_FILES] = { "files", "DIR", "files that the workspace begins with (none)" } },
	.run = replay,
};
