/* agentd: reads its settings, opens the runtime, says that it is ready, runs until told to stop. */
#include "buf.h"
#include "command.h"
#include "fault.h"
#include "hash.h"
#include "id.h"
#include "io/start_file.h"
#include "json.h"
#include "log.h"
#include "mem.h"
#include "runtime.h"
#include "settings.h"
#include "stdio/stdio_peer.h"

#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REJOIN_PAUSE 500000 /* microseconds */

static const char help[] =
	"agentd: the agent runtime's daemon\n"
	"\n"
	"usage: agentd [--config FILE] [--data-dir DIR] [--listen ADDR:PORT|off] [--socket PATH|off]\n"
	"       agentd stdio   [same options]    serves one peer on stdin and stdout: JSON-RPC 2.0, one "
	"message per line\n"
	"       agentd migrate [--config FILE]   brings a PostgreSQL store to the newest schema, and leaves\n"
	"       agentd sandbox [--config FILE]   says which boundaries of commands can be had here, and "
	"leaves\n"
	"\n"
	"  --config FILE    YAML settings; agentd.yaml(5) lists the keys\n"
	"  --data-dir DIR   where the store is (default: AGENTD_DATA_DIR, XDG_STATE_HOME/agentd, "
	"~/.local/state/agentd)\n"
	"  --listen ADDR    address and port for HTTP, or off (default 127.0.0.1:7717); beyond loopback it "
	"needs\n"
	"                   tls.certificate, tls.key and auth.required in the configuration\n"
	"  --socket PATH    unix socket for HTTP, or off (default DIR/agentd.sock)\n"
	"  --version        print the version and leave\n"
	"\n"
	"The model: OPENAI_BASE_URL (any OpenAI-compatible server), OPENAI_API_KEY, ANTHROPIC_API_KEY or "
	"GEMINI_API_KEY;\n"
	"AGENTD_MODEL names it, AGENTD_PROVIDER chooses among several (openai-chat, openai-responses, "
	"anthropic, "
	"gemini).\n"
	"Prints one JSON line on stdout when it is ready; logs JSON lines to stderr; SIGTERM drains and "
	"stops, SIGHUP reads new certificates.\n"
	"\n"
	"example:\n"
	"  OPENAI_BASE_URL=http://127.0.0.1:8080/v1 agentd --listen 127.0.0.1:7717\n"
	"  ANTHROPIC_API_KEY=... agentd\n";

/* 0: go on; otherwise leave with status - 1. */
static int read_args(int argc, char **argv, const char *usage, struct ar_settings_args *args)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "data-dir", required_argument, NULL, 'd' },
		{ "listen", required_argument, NULL, 'l' },
		{ "socket", required_argument, NULL, 's' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char **const targets[] = { ['c'] = &args->config_file,
					 ['d'] = &args->data_dir,
					 ['l'] = &args->listen,
					 ['s'] = &args->socket };
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'h' || c == 'v') {
			fputs(c == 'h' ? usage : "agentd " AR_VERSION "\n", stdout);
			return 1;
		}
		if (c == '?') {
			fputs("agentd: try agentd --help\n", stderr);
			return 3;
		}
		*targets[c] = optarg;
	}
	return 0;
}

static void write_pid(const struct ar_config *c)
{
	struct ar_buf path = { 0 };
	FILE *f;

	ar_buf_addf(&path, "%s/agentd.pid", c->data_dir);
	ar_buf_addc(&path, '\0');
	f = fopen(path.p, "we");
	if (f) {
		fprintf(f, "%ld\n", (long)getpid());
		fclose(f);
	}
	ar_buf_fini(&path);
}

static const char *provider_name(const struct ar_config *c)
{
	for (size_t i = 0; i < ar_config_key_count; i++) {
		if (strcmp(ar_config_keys[i].name, "model.provider") == 0)
			return ar_config_keys[i].values[c->model.provider];
	}
	return NULL;
}

/* For a client that starts the daemon again after it was lost; see start_file.h. */
static enum ar_status remember_start(const struct ar_config *c, const struct ar_settings_args *args,
				     struct ar_arena *a, struct ar_error *err)
{
	struct ar_start_file start = { .config = ar_str_from(args->config_file),
				       .listen = ar_str_from(args->listen),
				       .socket = ar_str_from(c->socket),
				       .workspace = ar_str_from(c->tools.workspace),
				       .model = ar_str_from(c->model.name),
				       .provider = ar_str_from(provider_name(c)) };
	char here[PATH_MAX];

	if (args->config_file && args->config_file[0] != '/') {
		if (!getcwd(here, sizeof(here)))
			return ar_fail(err, AR_E_IO,
				       "the current folder has no path; name --config with an absolute one");
		start.config = ar_arena_fmt(a, "%s/%s", here, args->config_file);
	}
	return ar_start_file_write(c->data_dir, &start, err);
}

struct ready {
	const struct ar_config *config;
	bool is_said;
	bool is_stdio; /* stdout is for the peer */
};

/* Said once, also when the node comes back later: whoever waits for it waits for the first time. */
static void say_ready(void *arg, const struct ar_runtime *runtime)
{
	struct ready *r = arg;
	unsigned port = ar_runtime_port(runtime);
	struct ar_buf line = { 0 };
	struct ar_jw w = ar_jw(&line);
	const char *colon = strrchr(r->config->listen, ':');
	char listen[80];

	if (r->is_said)
		return;
	r->is_said = true;
	if (r->is_stdio) {
		ar_log_line("info", "ready", "stdio");
		return;
	}
	snprintf(listen, sizeof(listen), "%.*s:%u", colon ? (int)(colon - r->config->listen) : 0,
		 r->config->listen, port);
	ar_jw_open(&w);
	ar_jw_mbool(&w, "ready", true);
	if (port)
		ar_jw_mstr(&w, "listen", ar_str_from(listen));
	if (strcmp(r->config->socket, "off") != 0)
		ar_jw_mstr(&w, "socket", ar_str_from(r->config->socket));
	ar_jw_close(&w);
	ar_buf_addc(&line, '\n');
	fwrite(line.p, 1, line.len, stdout);
	fflush(stdout);
	ar_buf_fini(&line);
}

/* What tells this process from another that was given the same node id by mistake. */
static uint64_t new_instance(void)
{
	char core[AR_ID_CORE];
	struct ar_hash h;
	uint64_t v;

	ar_id_mint(core);
	h = ar_hash_of((struct ar_str){ core, sizeof(core) });
	memcpy(&v, h.b, sizeof(v));
	return v >> 1 | 1;
}

static int cannot_start(const struct ar_error *err)
{
	ar_log_line("error", "cannot start", err->msg);
	fprintf(stderr, "agentd: %s\n", err->msg);
	return 1;
}

/* Between two runtimes nobody listens for them: they wait for the next one. */
static void hold_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(how, &set, NULL); /* no other thread lives between them */
}

static bool is_told_to_end(void)
{
	sigset_t set;

	return sigpending(&set) == 0 && (sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1);
}

/* Back after it was fenced: as soon as the store can be reached, unless another process has taken the node's name. */
static enum ar_status open_again(const struct ar_config *config, struct ar_runtime_start *start,
				 struct ar_runtime **ret, struct ar_error *err)
{
	enum ar_status st;

	start->is_rejoin = true;
	while ((st = ar_runtime_open(config, start, ret, err)) != AR_OK && st != AR_E_EXISTS &&
	       !is_told_to_end()) {
		ar_log_line("warning", "cannot come back yet", err->msg);
		usleep(REJOIN_PAUSE);
	}
	return st;
}

static int serve(struct ar_config *config, const struct ar_settings_args *args, struct ar_arena *arena,
		 const struct ar_stdio_peer *stdio)
{
	struct ready ready = { .config = config, .is_stdio = stdio != NULL };
	struct ar_service service;
	struct ar_runtime_start start = { .instance = new_instance(),
					  .service = &service,
					  .stdio_in = stdio ? stdio->in : 0,
					  .stdio_out = stdio ? stdio->out : 0,
					  .ready = say_ready,
					  .arg = &ready };
	struct ar_runtime *runtime;
	struct ar_error err = { 0 };

	if (ar_service_read(arena, config, &service, &err) != AR_OK ||
	    ar_runtime_open(config, &start, &runtime, &err) != AR_OK)
		return cannot_start(&err);
	if (!stdio && remember_start(config, args, arena, &err) != AR_OK) {
		ar_runtime_free(runtime);
		return cannot_start(&err);
	}
	write_pid(config);
	for (;;) {
		ar_runtime_keep_port(runtime, config, arena);
		ar_runtime_run(runtime);
		hold_signals(SIG_BLOCK);
		if (ar_runtime_free(runtime) != AR_RUN_FENCED)
			return 0;
		if (stdio)
			return ar_agentd_stdio_fenced();
		if (open_again(config, &start, &runtime, &err) != AR_OK)
			return is_told_to_end() ? 0 : cannot_start(&err);
		hold_signals(SIG_UNBLOCK);
	}
}

/* The peer that started us is the one who is served; what it does not read is written before we leave. */
static int serve_stdio(struct ar_config *config, const struct ar_settings_args *args, struct ar_arena *arena,
		       struct ar_error *err)
{
	struct ar_stdio_peer stdio;
	int rc;

	if (ar_stdio_peer_take(&stdio, err) != AR_OK)
		return cannot_start(err);
	rc = serve(config, args, arena, &stdio);
	ar_stdio_peer_finish(&stdio);
	return rc;
}

int main(int argc, char **argv)
{
	bool is_stdio = argc > 1 && strcmp(argv[1], "stdio") == 0;
	struct ar_settings_args args = { .is_unlistening = is_stdio };
	struct ar_arena arena = { 0 };
	struct ar_error err = { 0 };
	struct ar_config config;
	int rc;

	if (argc > 1 && strcmp(argv[1], "migrate") == 0)
		return ar_agentd_migrate(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "sandbox") == 0)
		return ar_agentd_sandbox(argc - 1, argv + 1);
	rc = read_args(argc - is_stdio, argv + is_stdio, is_stdio ? ar_agentd_stdio_help : help, &args);
	if (rc)
		return rc - 1;
	umask(077);
	ar_heap_begin();
	ar_fault_init();
	if (ar_settings_load(&args, &arena, &config, &err) != AR_OK)
		rc = cannot_start(&err);
	else
		rc = is_stdio ? serve_stdio(&config, &args, &arena, &err)
			      : serve(&config, &args, &arena, NULL);
	ar_arena_fini(&arena);
	return rc;
}
