/* See host.h. Threads: this loop owns everything but the store's writer and reader threads, which hand
 * finished operations back through one wake-up. */
#include "audience.h"
#include "blob_s3.h"
#include "file_lock.h"
#include "hook_runner.h"
#include "instructions.h"
#include "log.h"
#include "mem.h"
#include "metrics.h"
#include "ops/descriptors.h"
#include "ops/scrape.h"
#include "ops/evidence_key.h"
#include "ops/work_mark.h"
#include "permission.h"
#include "host_priv.h"
#include "prompt.h"
#include "secrets.h"
#include "settings/reload.h"
#include "settings/settings_read.h"
#include "settings/show.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define COMMIT_BACKLOG 8192
#define DAY ((ar_usec)24 * 3600 * 1000000)
#define FEED_LOOK ((ar_usec)100 * 1000) /* how late a tenant's readers may be with what other nodes wrote */
#define STATEMENT_MS 30000
#define SWEEP_FIRST_MS 3000 /* after the start; where others may have the sessions, much later */
#define SWEEP_FIRST_SHARED_MS (3600 * 1000)

/* ---- the loop ---- */

void ar_host_wake(void *arg)
{
	uv_async_send(&((struct ar_host *)arg)->store_wake);
}

static void on_store(uv_async_t *handle)
{
	struct ar_host *r = handle->data;

	ar_store_poll(r->store);
	ar_store_watch_look(&r->store_watch);
	if (r->member)
		r->member->v->poll(r->member);
}

static void on_engine_timer(uv_timer_t *handle)
{
	struct ar_host *r = handle->data;

	ar_engine_tick(r->engine);
	ar_access_tick(r->access.access);
	ar_follow_tick(r->follow);
	ar_control_audit_again(r->control);
	if (r->cluster) {
		ar_cluster_tick(r->cluster);
		ar_host_workers_set_table(&r->workers, ar_cluster_table(r->cluster));
	}
}

static ar_usec earlier(ar_usec a, ar_usec b)
{
	return a && (!b || a < b) ? a : b;
}

static ar_usec next_deadline(const struct ar_host *r)
{
	ar_usec cluster = r->cluster ? ar_cluster_deadline(r->cluster) : 0;

	return earlier(earlier(ar_access_deadline(r->access.access), ar_follow_deadline(r->follow)),
		       earlier(ar_engine_deadline(r->engine), cluster));
}

/* The runtime is ready when the first request need not wait for an owner, and finds all tools. */
static void announce_ready(struct ar_host *r)
{
	struct ar_str address;

	if (r->is_ready || !ar_tools_are_ready(&r->tools) || !ar_access_is_ready(r->access.access) ||
	    (r->member && ar_node_find(r, AR_STR_NONE, &address) == AR_PLACE_UNSETTLED))
		return;
	r->is_ready = true;
	ar_permission_record(r->config, r->redactor, r->control);
	if (r->start->ready)
		r->start->ready(r->start->arg, r);
}

static void on_sweep(uv_timer_t *handle)
{
	struct ar_host *r = handle->data;
	bool is_settled = r->is_ready && !ar_engine_is_recovering(r->engine);

	uv_timer_start(handle, on_sweep, ar_host_processes_sweep(&r->processes, is_settled), 0);
}

/* The timer of what is due next. */
static void arm_timer(struct ar_host *r)
{
	ar_usec due = next_deadline(r), now;

	if (!due) {
		uv_timer_stop(&r->engine_timer);
		return;
	}
	now = ar_clock_system()->mono(ar_clock_system());
	uv_timer_start(&r->engine_timer, on_engine_timer, due > now ? (uint64_t)(due - now) / 1000 + 1 : 0,
		       0);
}

void ar_host_settle(struct ar_host *r)
{
	announce_ready(r);
	arm_timer(r);
}

static void on_before_sleep(uv_prepare_t *handle)
{
	struct ar_host *r = handle->data;

	ar_loop_time_round(&r->loop_time);
	ar_host_settle(r);
}

void ar_host_reload(struct ar_host *r, const char *actor)
{
	const struct ar_host_start *start = r->start;
	bool has_files = *r->config->tls.certificate || *r->config->cluster.tls_certificate;

	if (r->is_closing)
		return;
	ar_log_line(&start->log, "info", "reloading",
		    has_files ? "the certificate files and the settings are read"
			      : "the settings are read; there is no certificate");
	ar_control_record(r->control, actor, "reload_settings");
	ar_http_server_reload(r->http);
	ar_secret_renewal_ask(r->renewal);
	if (start->settings && start->args)
		ar_settings_reload(start->settings, start->args, &start->log);
}

static void on_notice(void *arg, bool is_bad, const char *text)
{
	const struct ar_host *r = arg;

	ar_log_line(&r->start->log, is_bad ? "warning" : "info",
		    is_bad ? "the certificates stay as they were" : "certificates were read", text);
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
			rc = ar_fail(err, AR_E_IO, "the data directory '%s' cannot be created: %s", copy,
				     strerror(errno));
		if (!slash)
			break;
		*slash = '/';
	}
	ar_free(copy);
	return rc;
}

static void show_settings(void *arg, struct ar_jw *w)
{
	const struct ar_host *r = arg;

	ar_settings_show(r->start->settings, r->redactor, w);
}

static void on_blocked(void *arg, struct ar_str session)
{
	const struct ar_host *r = arg;
	char text[160];

	snprintf(text, sizeof text,
		 "%.*s; agentctl inbox shows the question, agentctl resume continues the turn",
		 AR_STR_ARG(session));
	ar_log_line(&r->start->log, "error",
		    "a turn is blocked: the runtime died too often while it worked on it", text);
}

static void on_lost_write(void *arg, struct ar_str session, struct ar_str what)
{
	struct ar_clock *clock = ar_clock_system();

	ar_lost_writes_say(&((struct ar_host *)arg)->lost_writes, session, what, clock->mono(clock));
}

/* In front of the parts of this machine, which is a worker like others, but for a name. */
static void open_workers(struct ar_host *r, const struct ar_config *c)
{
	const struct ar_worker_ports local = { .processes = r->processes.host,
					       .files = r->tools.files,
					       .checkpoints = r->checkpoints,
					       .inspector = r->inspector.loop ? &r->inspector.port : NULL };

	ar_host_workers_open(r->loop, c, &local, &r->folders, &r->workers);
}

static void on_removed(void *arg, struct ar_str session_key)
{
	ar_host_removal_begin(&((struct ar_host *)arg)->removal, session_key);
}

/* Folders and what their files bring, wherever they are. */
static void serve_workspaces(struct ar_host *r)
{
	ar_control_serve_folders(r->control, ar_host_workers_find_folder, &r->workers);
	ar_control_serve_workers(r->control, ar_worker_set_workers(r->workers.set));
	if (r->policy.inspects_workspaces)
		ar_control_serve_inspector(r->control, r->workers.ports->inspector);
}

static enum ar_status open_webhooks(struct ar_host *r, const struct ar_config *c, struct ar_error *err)
{
	return ar_host_webhooks_open(&(struct ar_host_webhooks_options){ .loop = r->loop,
									 .config = c,
									 .log = &r->start->log,
									 .control = r->control,
									 .engine = r->engine,
									 .follow = r->follow,
									 .store = r->store,
									 .metrics = r->metrics,
									 .is_shared = r->member != NULL },
				     &r->webhooks, err);
}

static void offer_tools(struct ar_host *r, const struct ar_config *c)
{
	ar_tools_offer(&r->tools, c, r->workers.ports->files);
	if (r->start->open_tools)
		ar_toolbox_add(r->tools.box, r->start->open_tools(r->start->arg));
	ar_host_open_servers(r, c);
}

static void open_follow(struct ar_host *r, const struct ar_config *c)
{
	r->follow = ar_follow_new(&(struct ar_follow_options){ .store = r->store,
							       .clock = ar_clock_system(),
							       .ring_bytes = (size_t)c->limits.ring_bytes,
							       .look_every = r->member ? FEED_LOOK : 0 });
}

static enum ar_status open_core(struct ar_host *r, const struct ar_config *c, struct ar_error *err)
{
	struct ar_clock *clock = ar_clock_system();
	const char *list;

	ar_host_read_policy(r, c);
	if (ar_observers_open(r, c, err) != AR_OK ||
	    ar_prompt_read(c, r->redactor, &r->arena, &r->policy, err) != AR_OK ||
	    ar_host_audiences_read(c, &r->arena, r->hooks.rules, &r->policy, &list, err) != AR_OK ||
	    ar_instruction_file_open(r->loop, c, r->redactor, &r->policy, &r->instructions, err) != AR_OK)
		return err->status;
	if (r->hooks.count > 0)
		r->hook_runner = ar_hook_runner_open(r->loop);
	r->tools.redactor = r->redactor;
	r->tools.log = r->processes.log = r->access.log = &r->start->log;
	if (ar_tools_open(r->loop, c, &r->policy, &r->arena, &r->tools, err) != AR_OK ||
	    ar_host_processes_open(r->loop, c, r->tools.sandbox, &r->processes, err) != AR_OK ||
	    ar_host_workspaces_open(r, c, err) != AR_OK)
		return err->status;
	open_workers(r, c);
	offer_tools(r, c);
	open_follow(r, c);
	r->engine = ar_engine_new(&(struct ar_engine_options){
		.store = r->store,
		.follow = r->follow,
		.providers = r->models.slots,
		.provider_count = r->models.count,
		.toolbox = r->tools.box,
		.processes = r->processes.host ? r->workers.ports->processes : NULL,
		.ends_processes = c->process.on_shutdown == AR_CONFIG_PROCESS_ON_SHUTDOWN_TERMINATE,
		.clock = clock,
		.policy = &r->policy,
		.hooks = r->hook_runner,
		.handlers = r->hooks.handlers,
		.handler_count = r->hooks.count,
		.inspector = r->inspector.loop ? r->workers.ports->inspector : &r->inspector.port,
		.servers = &r->servers.port,
		.checkpoints = r->checkpoints ? r->workers.ports->checkpoints : NULL,
		.workers = ar_worker_set_workers(r->workers.set),
		.redactor = r->redactor,
		.redact_inputs = c->redact.inputs,
		.metrics = r->metrics,
		.snapshot_every = (uint64_t)c->session.snapshot_every,
		.session_cache = (size_t)c->session.cache,
		.model_calls = ar_descriptors_for_calls(c),
		.commit_backlog = COMMIT_BACKLOG,
		.mark = r->work_mark,
		.evidence_key = ar_evidence_key_use,
		.evidence_arg = &r->evidence_key,
		.died = r->died,
		.on_blocked = on_blocked,
		.on_lost_write = on_lost_write,
		.on_removed = on_removed,
		.on_committed = ar_observers_are_there(r) ? ar_observers_committed : NULL,
		.on_fenced = ar_node_fenced,
		.arg = r });
	ar_engine_keep(r->engine, c->retention.days * DAY, c->retention.audit_days * DAY,
		       c->retention.usage_days * DAY);
	r->control = ar_control_new(r->engine, r->follow, r->store, r->member ? &r->placement : NULL);
	ar_engine_send_by(r->engine, ar_control_sender(r->control));
	r->access.control = r->control;
	if (ar_host_access_open(r->loop, c, r->store, r->member != NULL, &r->access, err) != AR_OK)
		return err->status;
	ar_control_serve_tokens(r->control, r->access.access);
	ar_control_guard(r->control, ar_access_auth(r->access.access));
	serve_workspaces(r);
	ar_memory_watch(&r->memory, r->engine);
	ar_control_mind_memory(r->control, ar_memory_has_room, &r->memory);
	return open_webhooks(r, c, err);
}

static bool is_short(void *arg, size_t bytes)
{
	return ar_memory_is_short(&((struct ar_host *)arg)->memory, bytes);
}

/* For one server: the parent that gave the socket keeps it for the next. 0: there is none. */
static int copy_socket(int fd)
{
	int copy = fd ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : 0;

	return copy > 0 ? copy : 0;
}

static const char *unless_off(const char *value)
{
	return strcmp(value, "off") == 0 ? NULL : value;
}

/* The peer has said all: the same as being asked to stop. */
static void on_stdio_ended(void *arg)
{
	struct ar_host *r = arg;

	if (r->phase == AR_STOP_NOT && !r->is_closing)
		ar_host_stop(r, AR_RUN_STOPPED);
}

static enum ar_status open_http(struct ar_host *r, const struct ar_config *c, struct ar_error *err)
{
	const struct ar_stdio_options stdio = { r->start->stdio_in, r->start->stdio_out, on_stdio_ended, r };

	enum ar_status st = ar_http_server_open(
		r->loop,
		&(struct ar_http_options){ .control = r->control,
					   .stdio = stdio.out ? &stdio : NULL,
					   .is_embedded = true,
					   .listen_fd = copy_socket(r->start->listen_fd),
					   .socket_fd = copy_socket(r->start->socket_fd),
					   .auth = ar_access_auth(r->access.access),
					   .listen = unless_off(c->listen),
					   .is_guarded = c->auth.required,
					   .tls_certificate = c->tls.certificate,
					   .tls_key = c->tls.key,
					   .tls_client_ca = c->tls.client_ca,
					   .hosts = c->http.hosts,
					   .origins = c->http.origins,
					   .socket_path = unless_off(c->socket),
					   .cluster_listen = r->member ? unless_off(c->cluster.listen) : NULL,
					   .cluster_advertise = c->cluster.advertise,
					   .cluster_tls = { c->cluster.tls_certificate, c->cluster.tls_key,
							    c->cluster.tls_ca, c->cluster.tls_name },
					   .peer_key = r->member ? r->member->key : NULL,
					   .ops = &r->ops,
					   .workers = ar_host_workers_of(&r->workers),
					   .max_body_bytes = (size_t)c->limits.max_body_bytes,
					   .max_header_bytes = (size_t)c->limits.max_header_bytes,
					   .kept_descriptors = ar_descriptors_for_calls(c),
					   .max_connections = (uint32_t)c->limits.max_connections,
					   .max_address_connections =
						   (uint32_t)c->limits.max_address_connections,
					   .max_subscribers = (uint32_t)c->limits.max_subscribers,
					   .header_ms = (uint32_t)c->limits.header_timeout_ms,
					   .body_ms = (uint32_t)c->limits.body_timeout_ms,
					   .write_ms = (uint32_t)c->limits.write_timeout_ms,
					   .keepalive_ms = (uint32_t)c->limits.keepalive_timeout_ms },
		&r->http, err);

	if (!st) {
		ar_control_carry_audit(r->control, ar_http_server_tell, r->http);
		ar_control_pass_calls(r->control, ar_http_server_pass, r->http);
	}
	return st;
}

static enum ar_status open_objects(struct ar_host *r, const struct ar_config *c, struct ar_error *err)
{
	if (!*c->blob.s3_url)
		return AR_OK;
	if (!*c->store)
		return ar_fail(err, AR_E_INVALID,
			       "blob.s3_url needs a PostgreSQL store; set `store` too, or leave it empty");
	return ar_blob_s3_open(&(struct ar_blob_s3_options){ .url = c->blob.s3_url,
							     .region = c->blob.s3_region,
							     .access_key = c->blob.s3_access_key,
							     .secret_key = c->blob.s3_secret_key },
			       &r->objects, err);
}

/* Where nothing renews it. */
static void password_of(void *config, struct ar_buf *out)
{
	ar_buf_addz(out, ((const struct ar_config *)config)->store_password);
}

static enum ar_status open_postgres(struct ar_host *r, const struct ar_config *c, struct ar_error *err)
{
	enum ar_status st = ar_store_postgres_open(
		&(struct ar_store_postgres_options){
			.conninfo = c->store,
			.password = { r->renewal ? ar_secret_renewal_password : password_of,
				      r->renewal ? (void *)r->renewal : (void *)(uintptr_t)c },
			.node = c->node.id,
			.instance = r->start->instance,
			.is_rejoin = r->start->is_rejoin,
			.wake = ar_host_wake,
			.wake_arg = r,
			.dictionary = { ar_catalog_dictionary, ar_catalog_dictionary_len },
			.statement_timeout_ms = STATEMENT_MS,
			.objects = r->objects,
			.object_min_bytes = (size_t)c->blob.s3_min_bytes },
		&r->store, err);

	if (st == AR_OK && ar_store_postgres_is_in_clear(r->store))
		ar_log_line(&r->start->log, "warning",
			    "the connection to PostgreSQL crosses the network without TLS",
			    "set sslmode=verify-full and sslrootcert in `store`");
	return st;
}

/* A store that was there and is empty now is damage: to begin a new one silently would hide it. */
static enum ar_status check_emptied(struct ar_host *r, struct ar_str path, struct ar_error *err)
{
	struct ar_str used = ar_arena_fmt(&r->arena, "%s/start.json", r->config->data_dir);
	struct stat db, other;

	if (stat(path.p, &db) != 0 || db.st_size > 0 || stat(used.p, &other) != 0)
		return AR_OK;
	return ar_fail(err, AR_E_CORRUPT,
		       "the store '%s' is empty, but this data directory was in use: restore a backup, or "
		       "remove the file to create a new store",
		       path.p);
}

/* A client that waits for an answer gets none, and learns by a repeat with the same id
 * or key what became of it. */
static void end_in_doubt(void *arg, const char *why)
{
	const struct ar_host *r = arg;

	ar_log_line(&r->start->log, "error", "the disk failed in the middle of a commit: the process ends",
		    why);
	_exit(EXIT_FAILURE);
}

/* The data folder is made in any case: the socket stands in it. */
static enum ar_status open_store(struct ar_host *r, const struct ar_config *c, struct ar_error *err)
{
	struct ar_str path = ar_arena_fmt(&r->arena, "%s/agentd.db", c->data_dir);
	struct ar_str folder = ar_arena_fmt(&r->arena, "%s/agentd", c->data_dir);

	if (make_dirs(c->data_dir, err) != AR_OK)
		return AR_E_IO;
	if (open_objects(r, c, err) != AR_OK)
		return err->status;
	if (*c->store) {
		/* The socket and the pid file stand in the folder: one process per folder, and
		 * agentctl finds it by the lock. */
		if (ar_file_lock_acquire(folder.p, &r->folder_lock, err) != AR_OK ||
		    ar_evidence_key_open(c->data_dir, &r->evidence_key, err) != AR_OK ||
		    open_postgres(r, c, err) != AR_OK)
			return err->status;
		return ar_node_join(r, err);
	}
	if (check_emptied(r, path, err) != AR_OK)
		return err->status;
	if (ar_store_sqlite_open(
		    &(struct ar_store_sqlite_options){
			    .path = path.p,
			    .doubt = end_in_doubt,
			    .doubt_arg = r,
			    .wake = ar_host_wake,
			    .wake_arg = r,
			    .dictionary = { ar_catalog_dictionary, ar_catalog_dictionary_len } },
		    &r->store, err) != AR_OK)
		return err->status;
	r->work_mark = ar_work_mark_open(c->data_dir, &r->died); /* ours alone, now that the store is */
	return ar_evidence_key_open(c->data_dir, &r->evidence_key, err);
}

static void open_loop(struct ar_host *r)
{
	uv_async_init(r->loop, &r->store_wake, on_store);
	uv_timer_init(r->loop, &r->engine_timer);
	uv_timer_init(r->loop, &r->stop_timer);
	uv_timer_init(r->loop, &r->sweep_timer);
	ar_store_watch_init(&r->store_watch, r->loop);
	ar_memory_init(&r->memory, r->loop, (uint64_t)r->config->limits.memory_bytes);
	uv_prepare_init(r->loop, &r->before_sleep);
	r->store_wake.data = r->engine_timer.data = r->stop_timer.data = r->sweep_timer.data = r;
	r->before_sleep.data = r;
	r->store_watch.log = r->memory.log = &r->start->log;
}

static void open_renewal(struct ar_host *r, struct ar_config *config)
{
	struct ar_settings *s = r->start->settings;

	if (s)
		r->renewal = ar_secret_renewal_open(r->loop, &(struct ar_secret_renewal_options){
								     .refs = s->refs,
								     .read = &s->config,
								     .in_force = config,
								     .log = &r->start->log,
								     .redactor = r->redactor });
}

static enum ar_status on_trigger(void *arg, const struct ar_http_trigger *t, struct ar_arena *a,
				 struct ar_http_triggered *ret, struct ar_error *err)
{
	return ar_host_trigger(((struct ar_host *)arg)->triggers, t, a, ret, err);
}

static enum ar_status on_peer_push(void *arg, const struct ar_http_peer_push *p, struct ar_error *err)
{
	return ar_delegates_push(((struct ar_host *)arg)->tools.delegates, p, err);
}

static enum ar_status open_all(struct ar_host *r, struct ar_config *config, struct ar_error *err)
{
	if (ar_secrets_load(config, &r->redactor, err) != AR_OK)
		return err->status;
	open_renewal(r, config);
	if (ar_models_open(r->loop, config, &r->arena, &r->models, err) != AR_OK ||
	    ar_host_hooks_read(config, &r->arena, &r->hooks, err) != AR_OK ||
	    ar_host_triggers_check(config, true, err) != AR_OK || open_store(r, config, err) != AR_OK ||
	    open_core(r, config, err) != AR_OK)
		return err->status;
	ar_delegates_report_to(r->tools.delegates, r->control);
	if (r->start->settings)
		ar_control_show_settings(r->control, show_settings, r);
	ar_engine_find_zones(r->engine, ar_zones_find, &r->zones);
	r->triggers = ar_host_triggers_new(config);
	r->ops = (struct ar_http_ops){ .nodes = ar_node_describe,
				       .drain = ar_node_drain,
				       .is_ready = ar_node_is_ready,
				       .is_store_out = ar_node_is_store_out,
				       .metrics = ar_scrape_write,
				       .notice = on_notice,
				       .strained = ar_descriptors_strained,
				       .is_short = is_short,
				       .trigger = r->triggers ? on_trigger : NULL,
				       .peer_push = ar_delegates_take_pushes(config) ? on_peer_push : NULL,
				       .arg = r };
	r->requests.redactor = r->redactor;
	r->requests.runtime_id = r->policy.runtime_id;
	r->requests.log = r->lost_writes.log = &r->start->log;
	ar_request_log_wire(config, &r->ops);
	if (ar_host_a2a_open(config, &r->policy, &r->ops.a2a, err) != AR_OK ||
	    ar_memory_check(&r->memory, err) != AR_OK || open_http(r, config, err) != AR_OK)
		return err->status;
	if (r->member)
		ar_node_serve(r);
	ar_store_watch_begin(&r->store_watch, r->store, r->cluster ? ar_node_is_cut_off : NULL, r);
	return AR_OK;
}

enum ar_status ar_host_open(uv_loop_t *loop, struct ar_config *config, const struct ar_host_start *start,
			    struct ar_host **ret, struct ar_error *err)
{
	struct ar_host *r = ar_new0(sizeof(*r));

	r->loop = loop;
	r->config = config;
	r->start = start;
	r->folder_lock = -1;
	r->metrics = r->tools.metrics = ar_metrics_new(ar_metric_descs, AR_METRIC_COUNT);
	open_loop(r);
	if (open_all(r, config, err) != AR_OK) {
		ar_secrets_mask_error(r->redactor, err);
		ar_host_free(r);
		return err->status;
	}
	*ret = r;
	return AR_OK;
}

unsigned ar_host_port(const struct ar_host *r)
{
	return ar_http_server_port(r->http);
}

struct ar_http_server *ar_host_http(const struct ar_host *r)
{
	return r->http;
}

bool ar_host_is_over(const struct ar_host *r)
{
	return r->is_over;
}

void ar_host_begin(struct ar_host *r)
{
	ar_loop_time_init(&r->loop_time, r->loop, r->metrics);
	uv_prepare_start(&r->before_sleep, on_before_sleep);
	if (!r->member)
		ar_engine_recover(r->engine, NULL);
	uv_timer_start(&r->sweep_timer, on_sweep, r->member ? SWEEP_FIRST_SHARED_MS : SWEEP_FIRST_MS, 0);
}

/* ---- the end ---- */

static void close_own_handles(struct ar_host *r)
{
	uv_handle_t *const own[] = {
		(uv_handle_t *)&r->engine_timer, (uv_handle_t *)&r->stop_timer,
		(uv_handle_t *)&r->sweep_timer,	 (uv_handle_t *)&r->before_sleep,
		(uv_handle_t *)&r->memory.timer, (uv_handle_t *)&r->store_watch.timer,
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(own); i++)
		uv_close(own[i], NULL);
	ar_instruction_file_close(r->instructions);
	ar_secret_renewal_close(r->renewal);
}

/* Modules with operations in flight call back while the others are closed; then nothing is left.
 * What the store finishes at its end may still want the provider; after it nothing may want the store:
 * no timer of the engine, no wake-up. */
enum ar_run_end ar_host_free(struct ar_host *r)
{
	enum ar_run_end end;

	r->is_closing = true;
	ar_host_folders_close(&r->folders); /* what waits for a folder still goes to the engine */
	if (r->inspector.loop)
		r->inspector.port.v->close(&r->inspector.port);
	if (r->engine)
		ar_engine_stop(r->engine);
	uv_prepare_stop(&r->before_sleep);
	uv_timer_stop(&r->engine_timer);
	uv_timer_stop(&r->stop_timer);
	uv_timer_stop(&r->sweep_timer);
	ar_memory_fini(&r->memory);
	ar_store_watch_end(&r->store_watch);
	ar_host_webhooks_close(r->webhooks);
	ar_host_telemetry_close(r->telemetry);
	ar_log_checkpoints_close(r->log_checkpoints);
	if (r->http) {
		ar_control_carry_audit(r->control, NULL, NULL);
		ar_control_pass_calls(r->control, NULL, NULL);
		ar_http_server_close(r->http, NULL, NULL);
	}
	if (r->member)
		r->member->v->close(r->member);
	ar_store_close(r->store);
	if (r->objects)
		r->objects->v->close(r->objects);
	uv_close((uv_handle_t *)&r->store_wake, NULL);
	ar_models_close(&r->models);
	ar_host_access_close(&r->access);
	if (r->hook_runner)
		r->hook_runner->v->close(r->hook_runner);
	r->removal.port = NULL;
	ar_host_workers_close(&r->workers);
	if (r->checkpoints)
		r->checkpoints->v->close(r->checkpoints);
	ar_host_servers_end(&r->servers);
	ar_tools_close(&r->tools);
	ar_host_servers_close(&r->servers);
	ar_host_processes_close(&r->processes);
	uv_run(r->loop, UV_RUN_NOWAIT);
	ar_host_access_free(&r->access); /* its last words are for an engine that takes none any more */
	ar_engine_free(r->engine);
	ar_work_mark_close(r->work_mark);
	ar_cluster_free(r->cluster);
	ar_control_free(r->control);
	ar_follow_free(r->follow);
	close_own_handles(r);
	/* Runs until the other modules have closed their handles; tool servers may need a moment. */
	uv_run(r->loop, UV_RUN_DEFAULT);
	ar_host_webhooks_free(r->webhooks);
	ar_observers_free(r);
	ar_host_triggers_free(r->triggers);
	ar_host_a2a_close(r->ops.a2a);
	ar_tools_free(&r->tools);
	ar_instruction_file_free(r->instructions);
	ar_secret_renewal_free(r->renewal);
	ar_redactor_free(r->redactor);
	ar_metrics_free(r->metrics);
	ar_file_lock_drop(r->folder_lock);
	ar_zones_fini(&r->zones);
	ar_arena_fini(&r->arena);
	end = r->end;
	ar_free(r);
	return end;
}
