/* agentctl: finds the command, the daemon's place and the output, and leaves the rest to the command's
 * row. Talks to the daemon through its public HTTP API only. One thread. */
#include "args.h"
#include "complete.h"
#include "first/kept.h"
#include "help.h"
#include "term/term.h"
#include "url.h"
#include "userdirs.h"

#include <curl/curl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static const struct ar_ctl_command *const commands[] = {
	&ar_cmd_run,	   &ar_cmd_chat,	&ar_cmd_sessions,   &ar_cmd_show,    &ar_cmd_rename,
	&ar_cmd_archive,   &ar_cmd_tail,	&ar_cmd_events,	    &ar_cmd_submit,  &ar_cmd_steer,
	&ar_cmd_interrupt, &ar_cmd_queue,	&ar_cmd_resume,	    &ar_cmd_fork,    &ar_cmd_rollback,
	&ar_cmd_undo,	   &ar_cmd_diff,	&ar_cmd_workspace,  &ar_cmd_worker,  &ar_cmd_task,
	&ar_cmd_agent,	   &ar_cmd_job,		&ar_cmd_schedule,   &ar_cmd_webhook, &ar_cmd_inbox,
	&ar_cmd_approve,   &ar_cmd_deny,	&ar_cmd_answer,	    &ar_cmd_explain, &ar_cmd_ps,
	&ar_cmd_logs,	   &ar_cmd_attach,	&ar_cmd_kill,	    &ar_cmd_sandbox, &ar_cmd_call,
	&ar_cmd_export,	   &ar_cmd_review,	&ar_cmd_transcript, &ar_cmd_replay,  &ar_cmd_verify,
	&ar_cmd_pack,	   &ar_cmd_verify_pack, &ar_cmd_doctor,	    &ar_cmd_config,  &ar_cmd_top,
	&ar_cmd_node,	   &ar_cmd_token,	&ar_cmd_quota,	    &ar_cmd_usage,   &ar_cmd_cost,
	&ar_cmd_audit,	   &ar_cmd_stop,	&ar_cmd_setup,	    &ar_cmd_demo,    &ar_cmd_acp,
	&ar_cmd_a2a,	   &ar_cmd_version,
};

static const char *name_at(const void *table AR_UNUSED, size_t i)
{
	return i < AR_ARRAY_LEN(commands) ? commands[i]->name : "help";
}

static const struct ar_ctl_command *find_command(const char *name)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

static enum ar_exit unknown(struct ar_ctl *c, const char *name)
{
	const char *near = ar_help_nearest(name, name_at, NULL, AR_ARRAY_LEN(commands) + 1);
	struct ar_str next = near ? ar_arena_fmt(&c->arena, "did you mean `agentctl %s`?", near)
				  : AR_STR("agentctl help lists the commands");

	return ar_ctl_complain(c, AR_EXIT_USAGE, next, "there is no command '%s'", name);
}

/* ---- where the daemon is ---- */

/* The daemon runs in another folder than we do. */
static const char *absolute(struct ar_ctl *c, struct ar_str path)
{
	char here[PATH_MAX];

	if (ar_str_starts(path, AR_STR("/")) || !getcwd(here, sizeof(here)))
		return ar_ctl_strdup(c, path);
	return ar_arena_fmt(&c->arena, "%s/%.*s", here, AR_STR_ARG(path)).p;
}

static void find_folder(struct ar_ctl *c, const struct ar_globals *g)
{
	struct ar_buf dir = { 0 };

	if (g->data_dir)
		c->data_dir = absolute(c, ar_str_from(g->data_dir));
	else if (ar_user_data_dir(&dir))
		c->data_dir = absolute(c, ar_buf_str(&dir));
	ar_buf_fini(&dir);
}

static struct ar_str socket_path(struct ar_ctl *c, const struct ar_globals *g)
{
	struct ar_buf path = { 0 };

	if (g->socket)
		return ar_str_from(g->socket);
	ar_user_socket(ar_str_from(c->data_dir), &path);
	return ar_ctl_take_buf(c, &path);
}

static enum ar_exit find_socket(struct ar_ctl *c, const struct ar_globals *g)
{
	struct ar_str path;

	if (!c->data_dir && !g->socket)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("set HOME, AGENTD_DATA_DIR or --data-dir"),
				       "the data directory is not set");
	path = socket_path(c, g);
	if (ar_str_is(path, "off"))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("name the address with --url"),
				       "the socket is turned off");
	c->socket = absolute(c, path);
	c->url = "http://localhost";
	if (strlen(c->socket) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return ar_ctl_complain(c, AR_EXIT_USAGE,
				       AR_STR("name a shorter one with --socket, also to agentd"),
				       "the path of the socket is too long: %s", c->socket);
	return AR_EXIT_OK;
}

/* A token goes to nobody on the way, and to no other host than the reader of the address takes it for. */
static enum ar_exit check_url(struct ar_ctl *c, const char *url)
{
	struct ar_url u;

	if (!ar_url_parse(url, &u))
		return ar_ctl_complain(
			c, AR_EXIT_USAGE,
			AR_STR("write it as https://agents.example.com:7717, or http://127.0.0.1:7717"),
			"'%s' is not an http or https address", url);
	if (u.has_user)
		return ar_ctl_complain(c, AR_EXIT_USAGE,
				       AR_STR("name only the host, and set the token in AGENTCTL_TOKEN"),
				       "the address has a user name before its host");
	if (c->token && !u.is_https && !u.is_loopback)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("use https://, or http:// on this machine"),
				       "the token would be sent over the network in plain text to %s", url);
	return AR_EXIT_OK;
}

static enum ar_exit find_server(struct ar_ctl *c, const struct ar_globals *g)
{
	struct ar_str url = ar_str_from(g->url);
	const char *token = g->token ? g->token : getenv("AGENTCTL_TOKEN");

	c->token = token && *token ? token : NULL;
	c->cacert = g->cacert;
	find_folder(c, g);
	if (!g->url)
		return find_socket(c, g);
	if (g->socket)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE,
				       "--url and --socket exclude each other");
	while (ar_str_ends(url, AR_STR("/")))
		url.len--;
	c->url = ar_ctl_strdup(c, url);
	return check_url(c, c->url);
}

/* ---- running a command ---- */

static enum ar_exit check_words(struct ar_ctl *c, const struct ar_ctl_command *cmd,
				const struct ar_ctl_args *a)
{
	struct ar_str next =
		ar_arena_fmt(&c->arena, "usage: agentctl %s%s%s; `agentctl %s --help` explains it", cmd->name,
			     *cmd->synopsis ? " " : "", cmd->synopsis, cmd->name);

	if (a->count < cmd->min)
		return ar_ctl_complain(c, AR_EXIT_USAGE, next, "%s needs %s", cmd->name, cmd->synopsis);
	if (cmd->max >= 0 && a->count > cmd->max)
		return ar_ctl_complain(c, AR_EXIT_USAGE, next, "%s has no argument '%s'", cmd->name,
				       a->words[cmd->max]);
	return AR_EXIT_OK;
}

static enum ar_exit run_command(struct ar_ctl *c, const struct ar_ctl_command *cmd, int argc, char **argv,
				struct ar_globals *g)
{
	struct ar_ctl_args args;
	enum ar_exit exit;

	exit = ar_args_command(c, cmd, argc, argv, g, &args);
	if (exit != AR_EXIT_OK)
		return exit;
	if (g->is_help) {
		ar_help_command(&c->out, cmd);
		return AR_EXIT_OK;
	}
	c->is_json = g->is_json;
	c->is_quiet = g->is_quiet;
	exit = check_words(c, cmd, &args);
	if (exit == AR_EXIT_OK && !cmd->is_offline)
		exit = find_server(c, g);
	if (exit == AR_EXIT_OK && c->socket && cmd != &ar_cmd_setup)
		ar_kept_load(c);
	return exit == AR_EXIT_OK ? cmd->run(c, &args) : exit;
}

static enum ar_exit show_help(struct ar_ctl *c, const char *topic)
{
	const struct ar_ctl_command *cmd = topic ? find_command(topic) : NULL;

	if (topic && !cmd)
		return unknown(c, topic);
	if (cmd)
		ar_help_command(&c->out, cmd);
	else
		ar_help_overview(&c->out, commands, AR_ARRAY_LEN(commands));
	return AR_EXIT_OK;
}

/* Whatever is wrong with the words is not the time to say so: then there is just less to offer. */
static enum ar_exit complete(struct ar_ctl *c, int count, char **words)
{
	static const struct ar_ctl_table table = { commands, AR_ARRAY_LEN(commands) };
	struct ar_globals g;

	ar_complete_globals(count, words, &g);
	if (find_server(c, &g) != AR_EXIT_OK)
		c->socket = c->url = NULL;
	ar_complete(c, &table, count, words);
	return AR_EXIT_OK;
}

static enum ar_exit dispatch(struct ar_ctl *c, int argc, char **argv)
{
	struct ar_globals g = { 0 };
	const struct ar_ctl_command *cmd;
	enum ar_exit exit;
	int first;

	exit = ar_args_globals(c, argc, argv, &g, &first);
	if (exit != AR_EXIT_OK)
		return exit;
	if (g.is_version)
		return run_command(c, &ar_cmd_version, 1, argv, &g);
	if (first == argc && g.is_help)
		return show_help(c, NULL);
	if (first == argc && ar_term_is_possible(c))
		return run_command(c, &ar_cmd_here, 1, argv, &g);
	if (first == argc) {
		ar_help_overview(&c->err, commands, AR_ARRAY_LEN(commands));
		return AR_EXIT_USAGE;
	}
	if (strcmp(argv[first], "__complete") == 0)
		return complete(c, argc - first - 1, argv + first + 1);
	if (strcmp(argv[first], "help") == 0)
		return show_help(c, argv[first + 1]);
	cmd = find_command(argv[first]);
	if (!cmd)
		return unknown(c, argv[first]);
	return run_command(c, cmd, argc - first, argv + first, &g);
}

int main(int argc, char **argv)
{
	struct ar_ctl c = { .signal_fd = -1 };
	enum ar_exit exit;

	ar_out_init(&c.out, stdout);
	ar_out_init(&c.err, stderr);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	exit = dispatch(&c, argc, argv);
	if (fflush(stdout) != 0 && exit == AR_EXIT_OK)
		exit = ar_ctl_complain(&c, AR_EXIT_FAILED, AR_STR_NONE, "the output could not be written");
	curl_global_cleanup();
	if (c.signal_fd >= 0)
		close(c.signal_fd);
	ar_arena_fini(&c.arena);
	return (int)exit;
}
