/* `agentd worker`: see command.h. */
#include "worker/worker.h"
#include "buf.h"
#include "command.h"
#include "json.h"
#include "mem.h"
#include "ops/descriptors.h"
#include "options.h"
#include "service.h"
#include "settings.h"
#include "signals.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LABELS_MAX 64

static const char help[] =
	"usage: agentd worker --join URL --token-file FILE [--dir DIR] [--label NAME=VALUE]... [--ca-file "
	"FILE]\n"
	"                     [--name NAME] [--config FILE] [--workspaces DIR]\n"
	"                     [--root NAME=PATH]...\n"
	"       agentd worker --check [--config FILE]\n"
	"\n"
	"Runs the tool calls and commands of a daemon on another machine: holds workspaces and their\n"
	"sandboxes here, decides nothing, stores nothing but files of workspaces. Connects outward only.\n"
	"\n"
	"  --join URL         address of the daemon: https://..., or http://... on this machine\n"
	"  --token-file FILE  the enrolment token that `agentctl worker create` printed; it works once, and\n"
	"                     later starts do not need it\n"
	"  --dir DIR          directory of this worker: its token, its workspaces (default:\n"
	"                     XDG_STATE_HOME/agentd-worker, ~/.local/state/agentd-worker)\n"
	"  --workspaces DIR   directory of its workspaces (default: workspaces in --dir); workers of a pool "
	"have\n"
	"                     a shared one, at the same path\n"
	"  --root NAME=PATH   offers this folder as a workspace, by its name; may be given several times\n"
	"  --label NAME=VALUE shown with the worker; may be given several times\n"
	"  --ca-file FILE     PEM: accept only certificates of this authority (default: the system's)\n"
	"  --name NAME        name of this machine (default: its host name)\n"
	"  --config FILE      YAML settings; those of sandbox, process, tools, shutdown and log count here\n"
	"  --check            shows which sandbox profiles are available here and exits\n"
	"\n"
	"Prints one JSON line on stdout when the daemon has greeted it, and logs JSON lines to stderr.\n"
	"SIGTERM drains: no new calls, those under way may end (shutdown.grace_ms), processes keep running\n"
	"and are found again at the next start. A second SIGTERM ends it at once.\n"
	"\n"
	"example:\n"
	"  agentd worker --join https://agents.example:7717 --token-file /run/secrets/worker-token \\\n"
	"                --dir /var/lib/agentd-worker --label zone=a\n";

struct worker_run {
	struct ar_service service;
	struct ar_worker_host *host;
	uv_signal_t term, interrupt, hangup;
};

/* ---- options ---- */

struct words {
	const char *join, *token_file, *dir, *workspaces, *ca_file, *name, *config_file;
	bool is_check;
	struct ar_str labels[LABELS_MAX];
	size_t label_count;
	struct ar_str roots[LABELS_MAX];
	size_t root_count;
};

/* Takes NAME=VALUE options of that name out of the words; what is left are options that come once. -1: one is
 * wrong, or there are too many. */
static int take_pairs(int argc, char **argv, const char *option, struct ar_str *ret, size_t *ret_count)
{
	size_t len = strlen(option);
	int kept = 1;

	for (int i = 1; i < argc; i++) {
		bool is_long = strncmp(argv[i], option, len) == 0 && argv[i][len] == '=';

		if (!is_long && (strcmp(argv[i], option) != 0 || i + 1 == argc)) {
			argv[kept++] = argv[i];
			continue;
		}
		if (*ret_count == LABELS_MAX)
			return -1;
		ret[*ret_count] = ar_str_from(is_long ? argv[i] + len + 1 : argv[++i]);
		if (!memchr(ret[*ret_count].p, '=', ret[*ret_count].len))
			return -1;
		(*ret_count)++;
	}
	return kept;
}

static struct ar_str labels_json(const struct words *w, struct ar_arena *a)
{
	struct ar_buf text = { 0 };
	struct ar_jw jw = ar_jw(&text);
	struct ar_str json;

	if (!w->label_count)
		return AR_STR_NONE;
	ar_jw_open(&jw);
	for (size_t i = 0; i < w->label_count; i++) {
		struct ar_str name, value = ar_str_split(w->labels[i], '=', &name);

		ar_jw_mstr(&jw, ar_arena_str(a, name).p, value);
	}
	ar_jw_close(&jw);
	json = ar_arena_str(a, ar_buf_str(&text));
	ar_buf_fini(&text);
	return json;
}

static struct ar_worker_roots roots_of(const struct words *w, struct ar_arena *a)
{
	struct ar_str *names = ar_arena_alloc(a, (w->root_count + 1) * sizeof(*names));
	struct ar_str *paths = ar_arena_alloc(a, (w->root_count + 1) * sizeof(*paths));

	for (size_t i = 0; i < w->root_count; i++) {
		struct ar_str name, path = ar_str_split(w->roots[i], '=', &name);

		names[i] = ar_arena_str(a, name);
		paths[i] = ar_arena_str(a, path);
	}
	return (struct ar_worker_roots){ { names, w->root_count }, { paths, w->root_count } };
}

/* 0: go on; otherwise leave with that status - 1. */
static int read_words(int argc, char **argv, struct words *w)
{
	const struct ar_agentd_option options[] = { { "--join", &w->join, NULL },
						    { "--token-file", &w->token_file, NULL },
						    { "--dir", &w->dir, NULL },
						    { "--ca-file", &w->ca_file, NULL },
						    { "--name", &w->name, NULL },
						    { "--config", &w->config_file, NULL },
						    { "--check", NULL, &w->is_check },
						    { "--workspaces", &w->workspaces, NULL },
						    { 0 } };
	int rc;

	argc = take_pairs(argc, argv, "--label", w->labels, &w->label_count);
	if (argc >= 0)
		argc = take_pairs(argc, argv, "--root", w->roots, &w->root_count);
	if (argc < 0) {
		fprintf(stderr,
			"agentd worker: --label is NAME=VALUE, --root is NAME=PATH, at most %d each\n",
			LABELS_MAX);
		return 3;
	}
	rc = ar_agentd_options(argc, argv, &(struct ar_agentd_options){ "agentd worker", help, options });
	if (rc || w->is_check || w->join)
		return rc;
	fprintf(stderr, "agentd worker: --join URL is needed\nTry: agentd worker --help\n");
	return 3;
}

static int check_machine(const struct words *w)
{
	char program[] = "agentd worker --check", option[] = "--config";
	char *argv[] = { program, option, (char *)(uintptr_t)w->config_file, NULL };

	return ar_agentd_sandbox(w->config_file ? 3 : 1, argv);
}

/* ---- the run ---- */

static int cannot_start(const char *why)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "agentd worker: %s\n", why);
	else
		ar_log_line(&ar_agentd_log, "error", "the worker ends", why);
	return 1;
}

static void on_ready(void *arg, struct ar_str worker_id)
{
	const struct worker_run *r = arg;

	ar_service_tell(&r->service, "READY=1\nSTATUS=joined\n");
	printf("{\"ready\":true,\"workerId\":\"%.*s\",\"version\":\"" AR_VERSION "\"}\n",
	       AR_STR_ARG(worker_id));
	fflush(stdout);
}

static void on_stopping(void *arg)
{
	ar_service_tell(&((const struct worker_run *)arg)->service, "STOPPING=1\nSTATUS=draining\n");
}

static void on_signal(uv_signal_t *signal, int number)
{
	struct worker_run *r = signal->data;

	if (number != SIGHUP) /* there is nothing to load again, and it is no reason to end */
		ar_worker_host_stop(r->host);
}

static void open_signal(uv_loop_t *loop, uv_signal_t *signal, int number, struct worker_run *r)
{
	uv_signal_init(loop, signal);
	signal->data = r;
	uv_signal_start(signal, on_signal, number);
	uv_unref((uv_handle_t *)signal);
}

static int run_worker(uv_loop_t *loop, const struct ar_worker_start *start, struct worker_run *r)
{
	struct ar_error err = { 0 };
	int rc = 0;

	if (ar_worker_host_open(loop, start, &r->host, &err) != AR_OK)
		return cannot_start(err.msg);
	open_signal(loop, &r->term, SIGTERM, r);
	open_signal(loop, &r->interrupt, SIGINT, r);
	open_signal(loop, &r->hangup, SIGHUP, r);
	uv_run(loop, UV_RUN_DEFAULT);
	if (ar_worker_host_reason(r->host))
		rc = cannot_start(ar_worker_host_reason(r->host));
	uv_close((uv_handle_t *)&r->term, NULL);
	uv_close((uv_handle_t *)&r->interrupt, NULL);
	uv_close((uv_handle_t *)&r->hangup, NULL);
	ar_worker_host_free(r->host);
	return rc;
}

/* Where the daemon's data would be, with another name. */
static const char *default_dir(const struct ar_config *c, struct ar_arena *a)
{
	return ar_arena_fmt(a, "%s-worker", c->data_dir).p;
}

static const char *absolute(const char *path, struct ar_arena *a)
{
	char here[PATH_MAX];

	if (*path == '/' || !getcwd(here, sizeof here))
		return path;
	return ar_arena_fmt(a, "%s/%s", here, path).p;
}

static int serve(const struct words *words, struct ar_arena *a, struct ar_config *config)
{
	struct worker_run run = { 0 };
	struct ar_worker_start start = { .config = config,
					 .url = words->join,
					 .token_file = words->token_file,
					 .ca_file = words->ca_file,
					 .name = words->name,
					 .labels = labels_json(words, a),
					 .roots = roots_of(words, a),
					 .log = &ar_agentd_log,
					 .on_ready = on_ready,
					 .on_stopping = on_stopping,
					 .arg = &run };
	struct ar_error err = { 0 };
	uv_loop_t loop;
	int rc;

	start.workspaces = words->workspaces ? absolute(words->workspaces, a) : NULL;
	start.dir = words->dir ? absolute(words->dir, a) : default_dir(config, a);
	if (ar_descriptors_begin(&err) != AR_OK || ar_service_read(a, config, &run.service, &err) != AR_OK)
		return cannot_start(err.msg);
	AR_ASSERT(uv_loop_init(&loop) == 0);
	rc = run_worker(&loop, &start, &run);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	return rc;
}

int ar_agentd_worker(int argc, char **argv)
{
	struct words words = { 0 };
	struct ar_arena arena = { 0 };
	struct ar_error err = { 0 };
	struct ar_config config;
	int rc = read_words(argc, argv, &words);

	if (rc)
		return rc - 1;
	if (words.is_check)
		return check_machine(&words);
	umask(077);
	ar_agentd_signals_begin();
	ar_heap_begin();
	if (ar_settings_load_secrets(&(struct ar_settings_args){ .config_file = words.config_file,
								 .no_listeners = true },
				     &arena, &config, &err) != AR_OK)
		rc = cannot_start(err.msg);
	else
		rc = serve(&words, &arena, &config);
	ar_arena_fini(&arena);
	return rc;
}
