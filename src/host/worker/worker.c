/* See worker.h. */
#include "worker/worker.h"

#include "file_lock.h"
#include "mem.h"
#include "worker/enrol.h"
#include "worker/identity.h"
#include "worker/machine.h"
#include "worker/peers.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define RETRY_FIRST_MS 250
#define RETRY_MAX_MS 30000
#define SWEEP_FIRST_MS (3600 * 1000)

struct ar_worker_host {
	const struct ar_worker_start *start;
	uv_loop_t *loop;
	struct ar_config config; /* with the folders of this worker */
	struct ar_arena arena;
	struct ar_worker_machine machine;
	struct ar_serve_shared *shared;
	struct ar_worker_peers *peers;
	struct ar_worker_identity who; /* absent: not enrolled */
	const char *identity; /* path of its file */
	struct ar_worker_enrolment *enrolment; /* under way, or NULL */
	uv_timer_t retry, grace, sweep;
	uint64_t retry_ms; /* the last pause; 0: none */
	int lock;
	bool has_timers;
	bool has_joined; /* a node has greeted, once at least */
	bool is_stopping;
	bool is_over;
	char reason[512];
};

/* ---- the end ---- */

static void end_run(struct ar_worker_host *w)
{
	w->is_over = true;
	uv_stop(w->loop);
}

/* Nothing that this process does again would help. */
static void give_up(struct ar_worker_host *w, const char *why)
{
	if (!w->is_stopping)
		snprintf(w->reason, sizeof w->reason, "%s", why);
	end_run(w);
}

static void on_grace_over(uv_timer_t *timer)
{
	struct ar_worker_host *w = timer->data;

	ar_log_line(w->start->log, "warning", "calls are left open", "the time of shutdown.grace_ms is over");
	end_run(w);
}

static void on_drained(void *arg)
{
	struct ar_worker_host *w = arg;

	if (w->is_stopping)
		end_run(w);
}

void ar_worker_host_stop(struct ar_worker_host *w)
{
	if (w->is_stopping || w->is_over) {
		end_run(w);
		return;
	}
	w->is_stopping = true;
	ar_log_line(w->start->log, "info", "draining", NULL);
	if (w->start->on_stopping)
		w->start->on_stopping(w->start->arg);
	uv_timer_start(&w->grace, on_grace_over, (uint64_t)w->config.shutdown.grace_ms, 0);
	ar_worker_peers_drain(w->peers); /* on_drained comes, when the last call is over */
}

/* ---- the links ---- */

static void join(struct ar_worker_host *w);

static void on_retry(uv_timer_t *timer)
{
	join(timer->data);
}

/* Many workers of one daemon do not come back at the same moment. */
static void join_later(struct ar_worker_host *w, const char *message, const char *why)
{
	uint64_t dice = 0;

	if (w->is_over)
		return;
	w->retry_ms = w->retry_ms ? w->retry_ms * 2 : RETRY_FIRST_MS;
	if (w->retry_ms > RETRY_MAX_MS)
		w->retry_ms = RETRY_MAX_MS;
	AR_ASSERT(getrandom(&dice, sizeof dice, 0) == sizeof dice);
	uv_timer_start(&w->retry, on_retry, w->retry_ms / 2 + dice % (w->retry_ms / 2 + 1), 0);
	ar_log_line(w->start->log, "warning", message, why);
}

static void on_joined(void *arg)
{
	struct ar_worker_host *w = arg;

	if (w->has_joined)
		return;
	w->has_joined = true;
	if (w->start->on_ready)
		w->start->on_ready(w->start->arg, w->who.id);
}

static void on_denied(void *arg, const char *why)
{
	give_up(arg, why);
}

/* ---- enrolment ---- */

/* The token is on disk before anything is done with it: the one of the file has worked its one time. */
static void on_enrolled(void *arg, const struct ar_worker_identity *who, const struct ar_error *err)
{
	struct ar_worker_host *w = arg;
	struct ar_error mine = { 0 };

	w->enrolment = NULL;
	if (!who) {
		if (err->status == AR_E_UNAVAILABLE)
			join_later(w, "the daemon does not enrol this worker; trying again", err->msg);
		else
			give_up(w, err->msg);
		return;
	}
	if (ar_worker_identity_write(w->identity, who, &mine) != AR_OK) {
		give_up(w, mine.msg);
		return;
	}
	w->who.id = ar_arena_str(&w->arena, who->id);
	w->who.token = ar_arena_str(&w->arena, who->token);
	ar_log_line(w->start->log, "info", "enrolled", w->who.id.p);
	ar_worker_peers_join(w->peers, w->who.token);
}

static struct ar_str describe_machine(const struct ar_worker_host *w, struct ar_arena *a)
{
	struct ar_buf text = { 0 };
	struct ar_jw jw = ar_jw(&text);
	struct utsname name = { 0 };
	struct ar_str info;

	uname(&name);
	ar_jw_open(&jw);
	ar_jw_mstr(&jw, "version", AR_STR(AR_VERSION));
	ar_jw_mstr(&jw, "name", ar_str_from(w->start->name ? w->start->name : name.nodename));
	ar_jw_mstr(&jw, "system", ar_str_from(name.sysname));
	ar_jw_mstr(&jw, "kernel", ar_str_from(name.release));
	ar_jw_mstr(&jw, "machine", ar_str_from(name.machine));
	ar_jw_close(&jw);
	info = ar_arena_str(a, ar_buf_str(&text));
	ar_buf_fini(&text);
	return info;
}

static void enrol(struct ar_worker_host *w)
{
	struct ar_worker_enrol_options o = { .url = w->start->url,
					     .ca_file = w->start->ca_file,
					     .labels = w->start->labels,
					     .done = on_enrolled,
					     .arg = w };
	struct ar_error err = { 0 };
	struct ar_arena a = { 0 };

	o.info = describe_machine(w, &a);
	if (ar_worker_token_read(w->start->token_file, &a, &o.token, &err) != AR_OK ||
	    ar_worker_enrol(w->loop, &o, &w->enrolment, &err) != AR_OK)
		give_up(w, err.msg);
	ar_arena_fini(&a);
}

static void join(struct ar_worker_host *w)
{
	if (w->is_over)
		return;
	if (ar_str_absent(w->who.token))
		enrol(w);
	else
		ar_worker_peers_join(w->peers, w->who.token);
}

/* ---- processes that nobody asks for any more ---- */

/* Nodes that were there all the time have attached to those that they know; what one forgot while this worker
 * was away, it does not say again. */
static void on_sweep(uv_timer_t *timer)
{
	struct ar_worker_host *w = timer->data;
	bool is_settled = ar_worker_peers_were_settled(w->peers);

	uv_timer_start(timer, on_sweep, ar_host_processes_sweep(&w->machine.processes, is_settled), 0);
}

/* ---- the start ---- */

static enum ar_status make_dir(const char *path, struct ar_error *err)
{
	struct stat st;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return ar_fail(err, AR_E_INVALID, "'%.200s' cannot be made: %s", path, strerror(errno));
	if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		return ar_fail(
			err, AR_E_INVALID,
			"'%.200s' is no folder of this user alone; give it to the worker's user, mode 0700",
			path);
	return AR_OK;
}

/* What a command may write is beside what it must not see, not below it. */
static enum ar_status make_dirs(struct ar_worker_host *w, struct ar_error *err)
{
	const char *dir = w->start->dir;

	if (*dir != '/')
		return ar_fail(err, AR_E_INVALID, "--dir '%.200s' is not an absolute path", dir);
	w->config.data_dir = ar_arena_fmt(&w->arena, "%s/state", dir).p;
	w->config.workspaces.dir =
		w->start->workspaces ? w->start->workspaces : ar_arena_fmt(&w->arena, "%s/workspaces", dir).p;
	w->identity = ar_arena_fmt(&w->arena, "%s/state/worker.json", dir).p;
	if (make_dir(dir, err) != AR_OK || make_dir(w->config.data_dir, err) != AR_OK ||
	    make_dir(w->config.workspaces.dir, err) != AR_OK)
		return err->status;
	return ar_file_lock_acquire(ar_arena_fmt(&w->arena, "%s/worker", w->config.data_dir).p, &w->lock,
				    err);
}

static bool is_around(const char *outer, const char *inner)
{
	size_t len = strlen(outer);

	return strncmp(outer, inner, len) == 0 && (len == 1 || inner[len] == '/' || inner[len] == '\0');
}

static bool overlap(const char *a, const char *b)
{
	return is_around(a, b) || is_around(b, a);
}

/* A command in an offered folder may write all of it, links too: nothing else that we open by its path is
 * above it or below. */
static enum ar_status check_root(const struct ar_worker_host *w, size_t i, struct ar_error *err)
{
	const struct ar_texts *paths = &w->start->roots.paths;
	const char *path = paths->at[i].p;
	char real[PATH_MAX], dir[PATH_MAX], workspaces[PATH_MAX];
	bool is_apart;
	struct stat st;

	if (!realpath(path, real) || strcmp(real, path) != 0 || stat(real, &st) != 0 || !S_ISDIR(st.st_mode))
		return ar_fail(err, AR_E_INVALID,
			       "--root '%.200s' is no folder, or there is a link on its path", path);
	is_apart = realpath(w->start->dir, dir) && realpath(w->config.workspaces.dir, workspaces) &&
		   !overlap(real, dir) && !overlap(real, workspaces);
	for (size_t k = 0; k < i; k++)
		is_apart &= !overlap(real, paths->at[k].p);
	return is_apart ? AR_OK
			: ar_fail(err, AR_E_INVALID,
				  "--root '%.200s' is above or below the directory of the worker, of its "
				  "workspaces, or another root",
				  path);
}

static enum ar_status check_roots(const struct ar_worker_host *w, struct ar_error *err)
{
	for (size_t i = 0; i < w->start->roots.paths.count; i++) {
		if (check_root(w, i, err) != AR_OK)
			return err->status;
	}
	return AR_OK;
}

/* Whether this worker was enrolled before, or has what it needs for it. */
static enum ar_status find_identity(struct ar_worker_host *w, struct ar_error *err)
{
	struct ar_arena a = { 0 };
	struct ar_str token;
	enum ar_status st = ar_worker_identity_read(w->identity, &w->arena, &w->who, err);

	if (st != AR_E_NOT_FOUND)
		return st;
	*err = (struct ar_error){ 0 };
	if (!w->start->token_file)
		return ar_fail(
			err, AR_E_INVALID,
			"this worker is not enrolled: create one with `agentctl worker create`, and give "
			"the file with its token as --token-file");
	st = ar_worker_token_read(w->start->token_file, &a, &token, err);
	ar_arena_fini(&a);
	return st;
}

static enum ar_status open_peers(struct ar_worker_host *w, struct ar_error *err)
{
	struct ar_worker_peers_options o = { .url = w->start->url,
					     .ca_file = w->start->ca_file,
					     .ports = &w->machine.ports,
					     .folders = w->machine.folders.dir,
					     .version = AR_STR(AR_VERSION),
					     .labels = w->start->labels,
					     .offered = w->start->roots.paths,
					     .log = w->start->log,
					     .on_joined = on_joined,
					     .on_denied = on_denied,
					     .on_drained = on_drained,
					     .arg = w };

	w->shared = ar_serve_shared_open(w->loop, ar_str_from(w->config.data_dir), err);
	if (!w->shared)
		return err->status;
	o.shared = w->shared;
	w->peers = ar_worker_peers_new(w->loop, &o);
	return AR_OK;
}

enum ar_status ar_worker_host_open(uv_loop_t *loop, const struct ar_worker_start *start,
				   struct ar_worker_host **ret, struct ar_error *err)
{
	struct ar_worker_host *w = ar_new0(sizeof(*w));

	w->loop = loop;
	w->start = start;
	w->config = *start->config;
	w->lock = -1;
	w->machine.log = start->log;
	w->machine.root_names = start->roots.names;
	w->machine.root_paths = start->roots.paths;
	if (make_dirs(w, err) != AR_OK || check_roots(w, err) != AR_OK || find_identity(w, err) != AR_OK ||
	    ar_worker_machine_open(loop, &w->config, &w->machine, err) != AR_OK ||
	    open_peers(w, err) != AR_OK) {
		ar_worker_host_free(w);
		return err->status;
	}
	uv_timer_init(loop, &w->retry);
	uv_timer_init(loop, &w->grace);
	uv_timer_init(loop, &w->sweep);
	w->retry.data = w->grace.data = w->sweep.data = w;
	w->has_timers = true;
	uv_timer_start(&w->sweep, on_sweep, SWEEP_FIRST_MS, 0);
	uv_timer_start(&w->retry, on_retry, 0, 0);
	*ret = w;
	return AR_OK;
}

const char *ar_worker_host_reason(const struct ar_worker_host *w)
{
	return w->reason[0] ? w->reason : NULL;
}

void ar_worker_host_free(struct ar_worker_host *w)
{
	w->is_over = true;
	if (w->enrolment)
		ar_worker_enrol_cancel(w->enrolment);
	if (w->peers)
		ar_worker_peers_close(w->peers);
	if (w->shared)
		ar_serve_shared_close(w->shared);
	ar_worker_machine_close(&w->machine);
	if (w->has_timers) {
		uv_close((uv_handle_t *)&w->retry, NULL);
		uv_close((uv_handle_t *)&w->grace, NULL);
		uv_close((uv_handle_t *)&w->sweep, NULL);
	}
	uv_run(w->loop, UV_RUN_DEFAULT);
	ar_worker_machine_free(&w->machine);
	ar_file_lock_drop(w->lock);
	ar_arena_fini(&w->arena);
	ar_free(w);
}
