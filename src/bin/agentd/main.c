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
#include "ops/descriptors.h"
#include "options.h"
#include "host.h"
#include "settings/check.h"
#include "settings/reload.h"
#include "stdio/stdio_peer.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REJOIN_PAUSE 500000 /* microseconds */

static const char help[] =
	"agentd: the daemon of the agent runtime\n"
	"\n"
	"usage: agentd [--config FILE] [--data-dir DIR] [--listen ADDR:PORT|off] [--socket PATH|off]\n"
	"       agentd stdio   [same options]    serves one client on stdin and stdout with JSON-RPC 2.0\n"
	"       agentd check   [same options]    checks the settings and exits\n"
	"       agentd settings [same options]   prints the settings with their sources and exits\n"
	"       agentd migrate [--config FILE]   upgrades the schema of a PostgreSQL store and exits\n"
	"       agentd sandbox [--config FILE]   shows which sandbox profiles are available and exits\n"
	"\n"
	"  --config FILE    YAML settings; agentd.yaml(5) lists the keys\n"
	"  --data-dir DIR   directory of the store (default: AGENTD_DATA_DIR, XDG_STATE_HOME/agentd,\n"
	"                   ~/.local/state/agentd)\n"
	"  --listen ADDR    address and port for HTTP, or off (default 127.0.0.1:7717); any address but\n"
	"                   loopback needs the settings tls.certificate, tls.key and auth.required\n"
	"  --socket PATH    unix socket for HTTP, or off (default DIR/agentd.sock)\n"
	"  --version        print the version and exit\n"
	"\n"
	"Set the model with OPENAI_BASE_URL (any OpenAI-compatible server), OPENAI_API_KEY,\n"
	"ANTHROPIC_API_KEY or GEMINI_API_KEY. AGENTD_MODEL names the model; AGENTD_PROVIDER chooses the\n"
	"provider if several are set (openai-chat, openai-responses, anthropic, gemini).\n"
	"\n"
	"agentd prints one JSON line on stdout when it is ready and logs JSON lines to stderr. SIGTERM "
	"shuts\n"
	"it down gracefully, a second SIGTERM ends it at once. SIGHUP loads new certificates, resolves "
	"secret\n"
	"references again and checks the settings.\n"
	"\n"
	"example:\n"
	"  OPENAI_BASE_URL=http://127.0.0.1:8080/v1 agentd --listen 127.0.0.1:7717\n"
	"  ANTHROPIC_API_KEY=... agentd\n";

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

/* Alone it lets calls under way end, in a cluster it hands over: a client that waits for its end waits for the longer. */
static int64_t longest_stop(const struct ar_config *c)
{
	return c->shutdown.grace_ms > c->cluster.handover_ms ? c->shutdown.grace_ms : c->cluster.handover_ms;
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
				       .provider = ar_str_from(provider_name(c)),
				       .stop_ms = ar_arena_fmt(a, "%lld", (long long)longest_stop(c)) };
	char here[PATH_MAX];

	if (args->config_file && args->config_file[0] != '/') {
		if (!getcwd(here, sizeof(here)))
			return ar_fail(err, AR_E_IO,
				       "the current folder has no path; name --config with an absolute one");
		start.config = ar_arena_fmt(a, "%s/%s", here, args->config_file);
	}
	return ar_start_file_write(c->data_dir, &start, err);
}

/* What this process began with. */
struct beginning {
	struct ar_settings *settings;
	const struct ar_settings_args *args;
	struct ar_config *config; /* a copy: the runtime writes the port that it found */
	struct ar_arena *arena;
	bool is_said;
	bool is_stdio; /* stdout is for the peer */
};

/* Said once, also when the node comes back later: whoever waits for it waits for the first time. */
static void say_ready(void *arg, const struct ar_host *runtime)
{
	struct beginning *r = arg;
	unsigned port = ar_host_port(runtime);
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
	char minted[AR_SESSION_KEY_LEN];
	struct ar_hash h;
	uint64_t v;

	ar_id_mint(minted);
	h = ar_hash_of((struct ar_str){ minted, sizeof(minted) });
	memcpy(&v, h.b, sizeof(v));
	return v >> 1 | 1;
}

/* Once: for a person at a terminal as a sentence, for a collector of logs as a line of the log. */
static void report(const char *level, const char *message, const char *detail)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "agentd: %s: %s\n", level, detail);
	else
		ar_log_line(level, message, detail);
}

static int cannot_start(const struct ar_error *err)
{
	report("error", "cannot start", err->msg);
	return 1;
}

static int report_settings(const struct ar_settings *s)
{
	for (size_t i = 0; i < s->warnings.count; i++)
		report("warning", "look at this setting", s->warnings.v[i].p);
	for (size_t i = 0; i < s->problems.count; i++)
		report("error", "cannot start", s->problems.v[i].p);
	return s->problems.count > 0;
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

static void on_hangup(int number AR_UNUSED)
{
}

/* SIGHUP asks for a reload and never ends a daemon, also before there is anything to reload. A handler, for children would inherit that it is
 * ignored. */
static void keep_hangups(void)
{
	struct sigaction action = { .sa_handler = on_hangup, .sa_flags = SA_RESTART };

	sigaction(SIGHUP, &action, NULL);
}

static bool is_told_to_end(void)
{
	sigset_t set;

	return sigpending(&set) == 0 && (sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1);
}

/* Back after it was fenced: as soon as the store can be reached, unless another process has taken the node's name. */
static enum ar_status open_again(struct ar_config *config, struct ar_host_start *start, struct ar_host **ret,
				 struct ar_error *err)
{
	enum ar_status st;

	start->is_rejoin = true;
	while ((st = ar_host_open(config, start, ret, err)) != AR_OK && st != AR_E_EXISTS &&
	       !is_told_to_end()) {
		ar_log_line("warning", "cannot come back yet", err->msg);
		usleep(REJOIN_PAUSE);
	}
	if (st == AR_OK)
		ar_log_line("info", "this node is back, under a new epoch", NULL);
	return st;
}

static void reload(void *arg)
{
	const struct beginning *b = arg;

	ar_settings_reload(b->settings, b->args);
}

static int serve(struct beginning *b, const struct ar_stdio_peer *stdio)
{
	struct ar_config *config = b->config;
	struct ar_arena *arena = b->arena;
	struct ar_service service;
	struct ar_host_start start = { .instance = new_instance(),
				       .settings = b->settings,
				       .service = &service,
				       .stdio_in = stdio ? stdio->in : 0,
				       .stdio_out = stdio ? stdio->out : 0,
				       .ready = say_ready,
				       .reload = reload,
				       .arg = b };
	struct ar_host *runtime;
	struct ar_error err = { 0 };

	if (ar_descriptors_begin(&err) != AR_OK || ar_service_read(arena, config, &service, &err) != AR_OK ||
	    ar_host_open(config, &start, &runtime, &err) != AR_OK)
		return cannot_start(&err);
	if (!stdio && remember_start(config, b->args, arena, &err) != AR_OK) {
		ar_host_free(runtime);
		return cannot_start(&err);
	}
	write_pid(config);
	for (;;) {
		ar_host_keep_port(runtime, config, arena);
		ar_host_run(runtime);
		hold_signals(SIG_BLOCK);
		if (ar_host_free(runtime) != AR_RUN_FENCED)
			return 0;
		if (stdio)
			return ar_agentd_stdio_fenced();
		if (open_again(config, &start, &runtime, &err) != AR_OK)
			return is_told_to_end() ? 0 : cannot_start(&err);
		hold_signals(SIG_UNBLOCK);
	}
}

/* The peer that started us is the one who is served; what it does not read is written before we leave. */
static int serve_stdio(struct beginning *b)
{
	struct ar_error err = { 0 };
	struct ar_stdio_peer stdio;
	int rc;

	if (ar_stdio_peer_take(&stdio, &err) != AR_OK)
		return cannot_start(&err);
	rc = serve(b, &stdio);
	ar_stdio_peer_finish(&stdio);
	return rc;
}

static int run(int argc, char **argv, bool is_stdio)
{
	struct ar_settings_args args = { .no_listeners = is_stdio };
	struct ar_arena arena = { 0 };
	struct ar_settings settings;
	struct ar_config config;
	struct beginning b = {
		.settings = &settings, .args = &args, .config = &config, .arena = &arena, .is_stdio = is_stdio
	};
	int rc = ar_agentd_settings_options(argc, argv,
					    &(struct ar_agentd_options){
						    is_stdio ? "agentd stdio" : "agentd",
						    is_stdio ? ar_agentd_stdio_help : help, NULL },
					    &args, (struct ar_agentd_option){ 0 });

	if (rc)
		return rc - 1;
	umask(077);
	keep_hangups();
	ar_heap_begin();
	ar_fault_init();
	ar_settings_read(&args, &arena, &settings);
	if (settings.problems.count == 0) {
		ar_settings_resolve(&settings, true);
		ar_settings_look(&settings);
	}
	config = settings.config;
	ar_log_from((enum ar_config_log_level)config.log.level);
	rc = report_settings(&settings);
	if (!rc)
		rc = is_stdio ? serve_stdio(&b) : serve(&b, NULL);
	ar_settings_fini(&settings);
	ar_arena_fini(&arena);
	return rc;
}

static int run_stdio(int argc, char **argv)
{
	return run(argc, argv, true);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "stdio", "check", "settings", "migrate", "sandbox", NULL };
	static int (*const commands[])(int, char **) = { run_stdio, ar_agentd_check, ar_agentd_settings,
							 ar_agentd_migrate, ar_agentd_sandbox };
	int word = ar_agentd_word(argc, argv, names);

	if (word == -2)
		return 2;
	return word < 0 ? run(argc, argv, false) : commands[word](argc - 1, argv + 1);
}
