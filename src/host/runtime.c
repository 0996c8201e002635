/* See runtime.h. Threads: this loop owns everything but the store's writer and reader threads, which hand finished operations
 * back through one wake-up. */
#include "runtime.h"
#include "arena.h"
#include "control.h"
#include "engine.h"
#include "log.h"
#include "mem.h"
#include "openai_chat.h"
#include "store_open.h"
#include "transport.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <uv.h>

#define COMMIT_BACKLOG 8192
#define MAX_ROUNDS 16
#define STATEMENT_MS 30000
#define DRAIN_MS 5000
#define DRAIN_STEP_MS 10

struct ar_runtime {
	uv_loop_t loop;
	uv_async_t store_wake;
	uv_timer_t engine_timer, drain_timer;
	uv_prepare_t before_sleep;
	uv_signal_t term, interrupt;
	struct ar_store *store;
	struct ar_follow *follow;
	struct ar_provider *provider;
	struct ar_engine *engine;
	struct ar_control *control;
	struct ar_http_server *http;
	struct ar_policy policy;
	struct ar_arena arena;
	unsigned drained_ms;
	int exit_status;
	bool is_draining;
};

/* ---- the loop ---- */

static void wake_loop(void *arg)
{
	uv_async_send(&((struct ar_runtime *)arg)->store_wake);
}

static void on_store(uv_async_t *handle)
{
	struct ar_runtime *r = handle->data;

	ar_store_poll(r->store);
}

static void on_engine_timer(uv_timer_t *handle)
{
	ar_engine_tick(((struct ar_runtime *)handle->data)->engine);
}

/* Before the loop sleeps it must know when the engine's next timer is due. */
static void on_before_sleep(uv_prepare_t *handle)
{
	struct ar_runtime *r = handle->data;
	ar_usec due = ar_engine_deadline(r->engine);
	ar_usec now;

	if (!due) {
		uv_timer_stop(&r->engine_timer);
		return;
	}
	now = ar_clock_system()->mono(ar_clock_system());
	uv_timer_start(&r->engine_timer, on_engine_timer, due > now ? (uint64_t)(due - now) / 1000 + 1 : 0,
		       0);
}

/* ---- stopping ---- */

static bool is_quiet(const struct ar_runtime *r)
{
	return ar_engine_counts(r->engine).commits == 0 && ar_http_server_counters(r->http)->connections == 0;
}

static void on_drain(uv_timer_t *handle)
{
	struct ar_runtime *r = handle->data;

	r->drained_ms += DRAIN_STEP_MS;
	if (is_quiet(r) || r->drained_ms >= DRAIN_MS)
		uv_stop(&r->loop);
}

static void stop(struct ar_runtime *r)
{
	struct ar_error err;

	if (r->is_draining) {
		uv_stop(&r->loop);
		return;
	}
	r->is_draining = true;
	ar_log_line("info", "draining", NULL);
	ar_refuse(&err, AR_ERR_UNAVAILABLE, "the runtime is stopping; connect again with the last event id");
	ar_follow_end_all(r->follow, &err);
	ar_http_server_drain(r->http);
	uv_timer_start(&r->drain_timer, on_drain, 0, DRAIN_STEP_MS);
}

static void on_signal(uv_signal_t *handle, int signum)
{
	(void)signum;
	stop(handle->data);
}

static void on_fenced(void *arg)
{
	struct ar_runtime *r = arg;

	ar_log_line("error", "another process owns the store now; stopping", NULL);
	r->exit_status = 1;
	stop(r);
}

/* ---- wiring ---- */

static enum ar_status make_dirs(const char *path, struct ar_error *err)
{
	char *copy = ar_str_dup(ar_str_from(path));
	enum ar_status rc = AR_OK;

	for (char *slash = strchr(copy + 1, '/'); rc == AR_OK; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(copy, 0700) != 0 && errno != EEXIST)
			rc = ar_fail(err, AR_E_IO, "the data folder '%s' cannot be made: %s", copy,
				     strerror(errno));
		if (!slash)
			break;
		*slash = '/';
	}
	ar_free(copy);
	return rc;
}

static struct ar_str kept(struct ar_runtime *r, const char *text)
{
	return ar_arena_str(&r->arena, ar_str_from(text));
}

static void read_policy(struct ar_runtime *r, const struct ar_config *c)
{
	bool has_model = *c->model.base_url || *c->model.api_key;
	const char *fallback = *c->model.base_url ? "default" : "gpt-4.1-mini";

	r->policy = (struct ar_policy){
		.runtime_id = kept(r, r->store->runtime_id),
		.provider = has_model ? AR_STR("openai-chat") : AR_STR_NONE,
		.model = kept(r, *c->model.name ? c->model.name : fallback),
		.system_prompt = kept(r, c->model.system_prompt),
		.max_attempts = c->model.max_attempts,
		.backoff_ms = c->model.backoff_ms,
		.max_rounds = MAX_ROUNDS,
		.max_restarts = c->recovery.max_restarts,
		.queue_max = c->queue.max_turns,
		.context_max = c->context.max_messages,
		.context_bytes = c->context.max_bytes,
		.queue_by_default = c->queue.default_policy == AR_CONFIG_QUEUE_DEFAULT_POLICY_QUEUE,
		.auto_resume = c->recovery.auto_resume,
	};
}

static void open_provider(struct ar_runtime *r, const struct ar_config *c)
{
	if (ar_str_absent(r->policy.provider))
		return;
	r->provider = ar_provider_openai_new(
		&r->loop,
		&(struct ar_openai_options){
			.base_url = *c->model.base_url ? c->model.base_url : "https://api.openai.com/v1",
			.api_key = c->model.api_key,
			.connect_timeout_ms = (uint32_t)c->model.connect_timeout_ms,
			.first_byte_timeout_ms = (uint32_t)c->model.first_byte_timeout_ms,
			.idle_timeout_ms = (uint32_t)c->model.idle_timeout_ms,
			.total_timeout_ms = (uint32_t)c->model.total_timeout_ms,
			.max_output_bytes = (uint32_t)c->model.max_output_bytes });
}

static void open_core(struct ar_runtime *r, const struct ar_config *c)
{
	struct ar_clock *clock = ar_clock_system();

	read_policy(r, c);
	open_provider(r, c);
	r->follow = ar_follow_new(&(struct ar_follow_options){
		.store = r->store, .clock = clock, .ring_bytes = (size_t)c->limits.ring_bytes });
	r->engine = ar_engine_new(
		&(struct ar_engine_options){ .store = r->store,
					     .follow = r->follow,
					     .provider = r->provider,
					     .clock = clock,
					     .policy = &r->policy,
					     .snapshot_every = (uint64_t)c->session.snapshot_every,
					     .session_cache = (size_t)c->session.cache,
					     .commit_backlog = COMMIT_BACKLOG,
					     .on_fenced = on_fenced,
					     .arg = r });
	r->control = ar_control_new(r->engine, r->follow, r->store, NULL);
}

static const char *unless_off(const char *value)
{
	return strcmp(value, "off") == 0 ? NULL : value;
}

static enum ar_status open_http(struct ar_runtime *r, const struct ar_config *c, struct ar_error *err)
{
	return ar_http_server_open(&r->loop,
				   &(struct ar_http_options){
					   .control = r->control,
					   .listen = unless_off(c->listen),
					   .socket_path = unless_off(c->socket),
					   .max_body_bytes = (size_t)c->limits.max_body_bytes,
					   .max_header_bytes = (size_t)c->limits.max_header_bytes,
					   .max_connections = (uint32_t)c->limits.max_connections,
					   .max_subscribers = (uint32_t)c->limits.max_subscribers,
					   .header_ms = (uint32_t)c->limits.header_timeout_ms,
					   .body_ms = (uint32_t)c->limits.body_timeout_ms,
					   .write_ms = (uint32_t)c->limits.write_timeout_ms,
					   .keepalive_ms = (uint32_t)c->limits.keepalive_timeout_ms },
				   &r->http, err);
}

static enum ar_status open_postgres(struct ar_runtime *r, const struct ar_config *c, struct ar_error *err)
{
	return ar_store_postgres_open(
		&(struct ar_store_postgres_options){
			.conninfo = c->store,
			.wake = wake_loop,
			.wake_arg = r,
			.dictionary = { ar_catalog_dictionary, ar_catalog_dictionary_len },
			.statement_timeout_ms = STATEMENT_MS },
		&r->store, err);
}

/* The data folder is made in any case: the socket stands in it. */
static enum ar_status open_store(struct ar_runtime *r, const struct ar_config *c, struct ar_error *err)
{
	struct ar_str path = ar_arena_fmt(&r->arena, "%s/agentd.db", c->data_dir);

	if (make_dirs(c->data_dir, err) != AR_OK)
		return AR_E_IO;
	if (*c->store)
		return open_postgres(r, c, err);
	return ar_store_sqlite_open(
		&(struct ar_store_sqlite_options){
			.path = path.p,
			.wake = wake_loop,
			.wake_arg = r,
			.dictionary = { ar_catalog_dictionary, ar_catalog_dictionary_len } },
		&r->store, err);
}

static void open_loop(struct ar_runtime *r)
{
	AR_ASSERT(uv_loop_init(&r->loop) == 0);
	uv_async_init(&r->loop, &r->store_wake, on_store);
	uv_timer_init(&r->loop, &r->engine_timer);
	uv_timer_init(&r->loop, &r->drain_timer);
	uv_prepare_init(&r->loop, &r->before_sleep);
	uv_signal_init(&r->loop, &r->term);
	uv_signal_init(&r->loop, &r->interrupt);
	r->store_wake.data = r->engine_timer.data = r->drain_timer.data = r;
	r->before_sleep.data = r->term.data = r->interrupt.data = r;
}

enum ar_status ar_runtime_open(const struct ar_config *config, struct ar_runtime **ret, struct ar_error *err)
{
	struct ar_runtime *r = ar_new0(sizeof(*r));

	open_loop(r);
	if (open_store(r, config, err) == AR_OK) {
		open_core(r, config);
		if (open_http(r, config, err) == AR_OK) {
			/* Before anyone is told that we are ready: from then on a signal means drain. */
			uv_signal_start(&r->term, on_signal, SIGTERM);
			uv_signal_start(&r->interrupt, on_signal, SIGINT);
			*ret = r;
			return AR_OK;
		}
	}
	ar_runtime_free(r);
	return err->status;
}

unsigned ar_runtime_port(const struct ar_runtime *r)
{
	return ar_http_server_port(r->http);
}

int ar_runtime_run(struct ar_runtime *r)
{
	uv_prepare_start(&r->before_sleep, on_before_sleep);
	ar_engine_recover(r->engine, NULL);
	uv_run(&r->loop, UV_RUN_DEFAULT);
	return r->exit_status;
}

/* ---- the end ---- */

static void close_handle(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

/* Whoever still has something in flight calls back while the others are closed; then nothing is left. What the store finishes
 * at its end may still want the provider; after it nothing may want the store: no timer of the engine, no wake-up. */
void ar_runtime_free(struct ar_runtime *r)
{
	if (r->engine)
		ar_engine_stop(r->engine);
	uv_prepare_stop(&r->before_sleep);
	uv_timer_stop(&r->engine_timer);
	if (r->http)
		ar_http_server_close(r->http, NULL, NULL);
	ar_store_close(r->store);
	uv_close((uv_handle_t *)&r->store_wake, NULL);
	if (r->provider)
		r->provider->v->close(r->provider);
	uv_run(&r->loop, UV_RUN_NOWAIT);
	ar_engine_free(r->engine);
	ar_control_free(r->control);
	ar_follow_free(r->follow);
	uv_walk(&r->loop, close_handle, NULL);
	uv_run(&r->loop, UV_RUN_DEFAULT);
	uv_loop_close(&r->loop);
	ar_arena_fini(&r->arena);
	ar_free(r);
}
