/* agentd: reads its settings, opens the runtime, says that it is ready, runs until it is stopped. */
#include "buf.h"
#include "clock.h"
#include "command.h"
#include "fault.h"
#include "io/start_file.h"
#include "mem.h"
#include "ops/descriptors.h"
#include "options.h"
#include "service.h"
#include "settings/check.h"
#include "setup.h"
#include "signals.h"
#include "stdio_peer.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
	"agentd: the daemon of the agent runtime\n"
	"\n"
	"usage: agentd [--config FILE] [--data-dir DIR] [--listen ADDR:PORT|off] [--socket PATH|off]\n"
	"       agentd stdio   [same options]    serves one client on stdin and stdout with JSON-RPC 2.0\n"
	"       agentd check   [same options]    checks the settings and exits\n"
	"       agentd settings [same options]   prints the settings with their sources and exits\n"
	"       agentd migrate [--config FILE]   upgrades the schema of a PostgreSQL store and exits\n"
	"       agentd sandbox [--config FILE]   shows which sandbox profiles are available and exits\n"
	"       agentd worker --join URL         runs tool calls and commands for a daemon elsewhere\n"
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

/* Alone it lets calls under way end, in a cluster it hands over: a client that waits for its end waits for
 * the longer. */
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
			return ar_fail(
				err, AR_E_IO,
				"the current directory has no path; use an absolute path for --config");
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
	struct ar_service service;
	const struct ar_stdio_peer *stdio; /* NULL: stdout is ours */
};

static void on_ready(void *arg, const char *json, size_t len)
{
	const struct beginning *b = arg;

	ar_service_tell(&b->service, "READY=1\nSTATUS=serving\n");
	if (b->stdio) {
		ar_log_line(&ar_agentd_log, "info", "ready", "stdio");
		return;
	}
	fwrite(json, 1, len, stdout);
	fputc('\n', stdout);
	fflush(stdout);
}

static void on_stopping(void *arg)
{
	ar_service_tell(&((const struct beginning *)arg)->service, "STOPPING=1\nSTATUS=draining\n");
}

static void on_log(void *arg AR_UNUSED, const char *level, const char *json, size_t len)
{
	ar_agentd_log.write(NULL, level, (struct ar_str){ json, len });
}

/* Once: for a person at a terminal as a sentence, for a collector of logs as a line of the log. */
static void report(const char *level, const char *message, const char *detail)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "agentd: %s: %s\n", level, detail);
	else
		ar_log_line(&ar_agentd_log, level, message, detail);
}

static int cannot_start(const char *why)
{
	report("error", "cannot start", why);
	return 1;
}

static int report_settings(const struct ar_settings *s)
{
	for (size_t i = 0; i < s->warnings.count; i++)
		report("warning", "check this setting", s->warnings.v[i].p);
	for (size_t i = 0; i < s->problems.count; i++)
		report("error", "cannot start", s->problems.v[i].p);
	return s->problems.count > 0;
}

/* A loop that hangs is not alive: the loop itself notifies the watchdog, between two steps. */
static void drive_watched(struct ar_runtime *r, const struct ar_service *service)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec pause = service->watchdog / 2, next = 0;

	while (!ar_runtime_is_stopped(r)) {
		struct pollfd fd = { .fd = ar_runtime_fd(r), .events = POLLIN };
		ar_usec now = clock->mono(clock);
		int timeout = ar_runtime_timeout_ms(r);

		if (now >= next) {
			ar_service_tell(service, "WATCHDOG=1\n");
			next = now + pause;
		}
		if (timeout < 0 || timeout > (next - now) / 1000)
			timeout = (int)((next - now) / 1000);
		poll(&fd, 1, timeout);
		ar_runtime_step(r);
	}
}

static void drive(struct ar_runtime *r, const struct ar_service *service)
{
	if (service->watchdog)
		drive_watched(r, service);
	else
		ar_runtime_run(r);
}

/* The pid file and the start file tell clients how this daemon is found and started again. */
static enum ar_status announce(const struct beginning *b, struct ar_error *err)
{
	if (!b->stdio && remember_start(b->config, b->args, b->arena, err) != AR_OK)
		return err->status;
	write_pid(b->config);
	return AR_OK;
}

static int end_run(struct ar_runtime *r, bool is_stdio)
{
	const char *reason = ar_runtime_stop_reason(r);
	int rc = reason ? is_stdio ? ar_agentd_stdio_fenced(reason) : cannot_start(reason) : 0;

	ar_agentd_signals_release();
	ar_runtime_free(r);
	return rc;
}

static int serve(struct beginning *b)
{
	const struct ar_runtime_options options = {
		.size = sizeof(options), .log = on_log, .ready = on_ready, .stopping = on_stopping, .arg = b
	};
	struct ar_runtime_setup setup = { .settings = b->settings, .args = b->args, .config = b->config };
	struct ar_runtime *runtime;
	struct ar_error err = { 0 };

	if (ar_descriptors_begin(&err) != AR_OK ||
	    ar_service_read(b->arena, b->config, &b->service, &err) != AR_OK)
		return cannot_start(err.msg);
	setup.listen_fd = b->service.tcp;
	setup.socket_fd = b->service.local;
	setup.rpc_in = b->stdio ? b->stdio->in : 0;
	setup.rpc_out = b->stdio ? b->stdio->out : 0;
	if (ar_runtime_open(&options, &setup, &runtime, &err) != AR_OK)
		return cannot_start(err.msg);
	if (announce(b, &err) != AR_OK) {
		ar_runtime_free(runtime);
		return cannot_start(err.msg);
	}
	ar_agentd_signals_take(runtime);
	drive(runtime, &b->service);
	return end_run(runtime, b->stdio);
}

/* The peer that started us is the one who is served; what it does not read is written before we leave. */
static int serve_stdio(struct beginning *b)
{
	struct ar_error err = { 0 };
	struct ar_stdio_peer stdio;
	int rc;

	if (ar_stdio_peer_take(&stdio, &err) != AR_OK)
		return cannot_start(err.msg);
	b->stdio = &stdio;
	rc = serve(b);
	ar_stdio_peer_finish(&stdio);
	return rc;
}

static int run(int argc, char **argv, bool is_stdio)
{
	struct ar_settings_args args = { .no_listeners = is_stdio };
	struct ar_arena arena = { 0 };
	struct ar_settings settings;
	struct ar_config config;
	struct beginning b = { .settings = &settings, .args = &args, .config = &config, .arena = &arena };
	int rc = ar_agentd_settings_options(argc, argv,
					    &(struct ar_agentd_options){
						    is_stdio ? "agentd stdio" : "agentd",
						    is_stdio ? ar_agentd_stdio_help : help, NULL },
					    &args, (struct ar_agentd_option){ 0 });

	if (rc)
		return rc - 1;
	umask(077);
	ar_agentd_signals_begin();
	ar_heap_begin();
	ar_fault_init();
	ar_settings_read(&args, &arena, &settings);
	if (settings.problems.count == 0) {
		ar_settings_resolve(&settings, true);
		ar_settings_look(&settings);
	}
	config = settings.config;
	ar_agentd_log.from = (enum ar_config_log_level)config.log.level;
	rc = report_settings(&settings);
	if (!rc)
		rc = is_stdio ? serve_stdio(&b) : serve(&b);
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
	static const char *const names[] = { "stdio",	"check",  "settings", "migrate",
					     "sandbox", "worker", NULL };
	static int (*const commands[])(int, char **) = { run_stdio,	     ar_agentd_check,
							 ar_agentd_settings, ar_agentd_migrate,
							 ar_agentd_sandbox,  ar_agentd_worker };
	int word = ar_agentd_word(argc, argv, names);

	if (word == -2)
		return 2;
	return word < 0 ? run(argc, argv, false) : commands[word](argc - 1, argv + 1);
}
