/* The life of a runtime: a loop, a host on it, and a mailbox for other threads. A host that was fenced
 * (another node has taken over its sessions) is freed and opened again as a new epoch, on the same loop,
 * so the descriptor that the owner polls stays the same. Owner: the driving thread. */
#include "buf.h"
#include "hash.h"
#include "id.h"
#include "json.h"
#include "mem.h"
#include "runtime_priv.h"
#include "settings/check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define REJOIN_MS 500

void ar_copy_sized(void *to, size_t room, const void *from, size_t size)
{
	memcpy(to, from, size < room ? size : room);
}

int ar_runtime_report(const struct ar_error *e, struct ar_runtime_error *ret)
{
	if (ret)
		snprintf(ret->message, sizeof(ret->message), "%s", e->msg);
	switch (e->status) {
	case AR_OK:
		return AR_RUNTIME_OK;
	case AR_E_INVALID:
		return AR_RUNTIME_INVALID;
	case AR_E_EXISTS:
		return AR_RUNTIME_IN_USE;
	default:
		return AR_RUNTIME_FAILED;
	}
}

/* ---- what the host says ---- */

static void on_log(void *arg, const char *level, struct ar_str line)
{
	const struct ar_runtime *r = arg;
	char *text = ar_str_dup(line);

	r->options.log(r->options.arg, level, text, line.len);
	ar_free(text);
}

/* Reported once, also when the node rejoins later: a waiting program waits for the first time. */
static void on_ready(void *arg, const struct ar_host *host)
{
	struct ar_runtime *r = arg;
	const struct ar_config *c = r->setup.config;
	const char *colon = strrchr(c->listen, ':');
	unsigned port = ar_host_port(host);
	struct ar_buf line = { 0 };
	struct ar_jw w = ar_jw(&line);

	if (r->is_ready || !r->options.ready)
		return;
	r->is_ready = true;
	ar_jw_open(&w);
	ar_jw_mbool(&w, "ready", true);
	if (port && colon)
		ar_jw_mstr(&w, "listen",
			   ar_arena_fmt(&r->arena, "%.*s:%u", (int)(colon - c->listen), c->listen, port));
	if (strcmp(c->socket, "off") != 0)
		ar_jw_mstr(&w, "socket", ar_str_from(c->socket));
	ar_jw_close(&w);
	ar_buf_addc(&line, '\0');
	r->options.ready(r->options.arg, line.p, line.len - 1);
	ar_buf_fini(&line);
}

static void on_stopping(void *arg)
{
	const struct ar_runtime *r = arg;

	if (r->options.stopping)
		r->options.stopping(r->options.arg);
}

/* ---- messages ---- */

static void deliver_messages(struct ar_runtime *r, struct ar_list *messages)
{
	struct ar_list *node;

	while ((node = ar_list_pop(messages))) {
		struct ar_mailbox_message *message = AR_CONTAINER_OF(node, struct ar_mailbox_message, node);

		message->deliver(message, r);
	}
}

static const char *actor_of(const char *given)
{
	return given ? given : "embedder";
}

/* Without a host there is nothing to drain. */
static void do_stops(struct ar_runtime *r)
{
	for (; r->stops_done < atomic_load(&r->stops); r->stops_done++) {
		if (r->host)
			ar_host_finish(r->host, actor_of(atomic_load(&r->stop_actor)));
	}
}

static void on_wake(uv_async_t *handle)
{
	struct ar_runtime *r = handle->data;
	struct ar_list messages;

	if (r->is_closing)
		return; /* they wait until the host is gone */
	do_stops(r);
	for (; r->reloads_done < atomic_load(&r->reloads); r->reloads_done++) {
		if (r->host)
			ar_host_reload(r->host, actor_of(atomic_load(&r->reload_actor)));
	}
	ar_mailbox_take(r->mail, &messages);
	deliver_messages(r, &messages);
}

void ar_runtime_stop(struct ar_runtime *r, const char *actor)
{
	atomic_store(&r->stop_actor, actor);
	atomic_fetch_add(&r->stops, 1);
	ar_mailbox_wake(r->mail);
}

void ar_runtime_reload(struct ar_runtime *r, const char *actor)
{
	atomic_store(&r->reload_actor, actor);
	atomic_fetch_add(&r->reloads, 1);
	ar_mailbox_wake(r->mail);
}

/* ---- hosts ---- */

/* A free port that was chosen is kept, so that the next host serves there again. */
static void keep_port(struct ar_runtime *r)
{
	struct ar_config *c = r->setup.config;
	const char *colon = strrchr(c->listen, ':');

	if (colon && strcmp(colon, ":0") == 0)
		c->listen = ar_arena_fmt(&r->arena, "%.*s:%u", (int)(colon - c->listen), c->listen,
					 ar_host_port(r->host))
				    .p;
}

static enum ar_status open_host(struct ar_runtime *r, struct ar_error *err)
{
	enum ar_status st = ar_host_open(&r->loop, r->setup.config, &r->start, &r->host, err);

	if (st != AR_OK) {
		r->host = NULL;
		return st;
	}
	keep_port(r);
	ar_host_begin(r->host);
	return AR_OK;
}

static void stop_for(struct ar_runtime *r, const char *reason)
{
	snprintf(r->stop_reason, sizeof(r->stop_reason), "%s", reason);
	r->is_stopped = true;
}

/* Back after it was fenced: as soon as the store can be reached, unless another process has the node's
 * name, folder or address now. */
static void on_rejoin(uv_timer_t *timer)
{
	struct ar_runtime *r = timer->data;
	struct ar_error err = { 0 };
	enum ar_status st;

	r->start.is_rejoin = true;
	st = open_host(r, &err);
	if (st == AR_E_EXISTS) {
		stop_for(r, err.msg);
		return;
	}
	if (st != AR_OK) {
		ar_log_line(&r->start.log, "warning", "this node cannot rejoin the cluster yet", err.msg);
		uv_timer_start(timer, on_rejoin, REJOIN_MS, 0);
		return;
	}
	ar_log_line(&r->start.log, "info", "this node has rejoined the cluster with a new epoch", NULL);
	deliver_messages(r, &r->held);
}

static enum ar_run_end free_host(struct ar_runtime *r)
{
	enum ar_run_end end;

	r->is_closing = true;
	ar_runtime_end_calls(r);
	ar_runtime_end_streams(r);
	end = ar_host_free(r->host);
	r->host = NULL;
	r->is_closing = false;
	ar_mailbox_wake(r->mail);
	return end;
}

/* What the end of a round leaves to do outside of it. */
static void advance(struct ar_runtime *r)
{
	if (r->host && ar_host_is_over(r->host)) {
		if (free_host(r) == AR_RUN_STOPPED)
			r->is_stopped = true;
		else if (r->setup.rpc_out)
			stop_for(r, "another node has taken over; start again and subscribe after the last "
				    "cursors");
		else
			uv_timer_start(&r->rejoin, on_rejoin, 0, 0);
	}
	if (!r->host && atomic_load(&r->stops))
		r->is_stopped = true;
	if (r->is_stopped)
		uv_timer_stop(&r->rejoin);
}

/* ---- driving ---- */

/* libuv writes without MSG_NOSIGNAL: a peer that is gone would end the program. */
static void run_loop(struct ar_runtime *r, uv_run_mode mode)
{
	static const struct timespec now = { 0 };
	sigset_t pipe, before;

	r->is_driven = true;
	if (r->is_pipe_safe) {
		uv_run(&r->loop, mode);
		return;
	}
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	uv_run(&r->loop, mode);
	if (!sigismember(&before, SIGPIPE)) {
		while (sigtimedwait(&pipe, NULL, &now) == SIGPIPE)
			;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ar_runtime_step(struct ar_runtime *r)
{
	if (r->is_stopped)
		return;
	run_loop(r, UV_RUN_NOWAIT);
	advance(r);
	if (r->host)
		ar_host_settle(r->host);
}

void ar_runtime_run(struct ar_runtime *r)
{
	while (!r->is_stopped) {
		run_loop(r, UV_RUN_DEFAULT);
		advance(r);
	}
}

int ar_runtime_fd(const struct ar_runtime *r)
{
	return uv_backend_fd(&r->loop);
}

int ar_runtime_timeout_ms(struct ar_runtime *r)
{
	if (!r->is_driven || r->is_stopped)
		return 0;
	uv_update_time(&r->loop);
	return uv_backend_timeout(&r->loop);
}

int ar_runtime_is_stopped(const struct ar_runtime *r)
{
	return r->is_stopped;
}

const char *ar_runtime_stop_reason(const struct ar_runtime *r)
{
	return *r->stop_reason ? r->stop_reason : NULL;
}

/* ---- made and freed ---- */

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

static bool is_pipe_ignored(void)
{
	struct sigaction now;

	return sigaction(SIGPIPE, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
	       now.sa_handler == SIG_IGN;
}

static struct ar_runtime *make_runtime(const struct ar_runtime_options *options)
{
	struct ar_runtime *r = ar_new0(sizeof(*r));

	ar_copy_sized(&r->options, sizeof(r->options), options, options->size);
	AR_ASSERT(uv_loop_init(&r->loop) == 0);
	r->mail = ar_mailbox_new(&r->loop, on_wake, r);
	uv_timer_init(&r->loop, &r->rejoin);
	r->rejoin.data = r;
	ar_list_init(&r->calls);
	ar_list_init(&r->streams);
	ar_list_init(&r->held);
	r->parser = ar_json_parser_new();
	r->is_pipe_safe = is_pipe_ignored();
	return r;
}

static enum ar_status start_runtime(struct ar_runtime *r, struct ar_error *err)
{
	const struct ar_runtime_setup *s = &r->setup;

	r->start = (struct ar_host_start){ .instance = new_instance(),
					   .stdio_in = s->rpc_in,
					   .stdio_out = s->rpc_out,
					   .listen_fd = s->listen_fd,
					   .socket_fd = s->socket_fd,
					   .settings = s->settings,
					   .args = s->args,
					   .open_tools = ar_runtime_open_tools,
					   .log = { r->options.log ? on_log : NULL, r,
						    (enum ar_config_log_level)s->config->log.level },
					   .ready = on_ready,
					   .stopping = on_stopping,
					   .arg = r };
	return open_host(r, err);
}

enum ar_status ar_runtime_open(const struct ar_runtime_options *options, const struct ar_runtime_setup *setup,
			       struct ar_runtime **ret, struct ar_error *err)
{
	struct ar_runtime *r = make_runtime(options);

	r->setup = *setup;
	if (start_runtime(r, err) != AR_OK) {
		ar_runtime_free(r);
		return err->status;
	}
	*ret = r;
	return AR_OK;
}

/* A reload reads them again, when the owner's text may be gone. */
static const char *const *copy_overrides(const char *const *all, struct ar_arena *a)
{
	const char **copy;
	size_t count = 0;

	while (all && all[count])
		count++;
	copy = ar_arena_alloc(a, (count + 1) * sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = ar_arena_str(a, ar_str_from(all[i])).p;
	copy[count] = NULL;
	return copy;
}

static enum ar_status read_settings(struct ar_runtime *r, struct ar_error *err)
{
	const char *file = r->options.config_file;
	struct ar_settings *s = &r->settings;

	r->args =
		(struct ar_settings_args){ .config_file =
						   file ? ar_arena_str(&r->arena, ar_str_from(file)).p : NULL,
					   .overrides = copy_overrides(r->options.overrides, &r->arena),
					   .no_listeners = !r->options.listen };
	ar_settings_read(&r->args, &r->arena, s);
	r->has_settings = true;
	if (s->problems.count == 0)
		ar_settings_resolve(s, true);
	if (s->problems.count > 0)
		return ar_fail(err, AR_E_INVALID, "%s", s->problems.v[0].p);
	r->config = s->config;
	if (!*r->config.sandbox.helpers)
		r->config.sandbox.helpers = ar_runtime_helpers(&r->arena);
	r->setup = (struct ar_runtime_setup){ .settings = s, .args = &r->args, .config = &r->config };
	return AR_OK;
}

int ar_runtime_new(const struct ar_runtime_options *options, struct ar_runtime **ret,
		   struct ar_runtime_error *ret_err)
{
	struct ar_runtime *r = make_runtime(options);
	struct ar_error err = { 0 };

	if (read_settings(r, &err) != AR_OK || start_runtime(r, &err) != AR_OK) {
		ar_runtime_free(r);
		return ar_runtime_report(&err, ret_err);
	}
	*ret = r;
	return AR_RUNTIME_OK;
}

/* Delivered messages may post others. */
static void deliver_all_messages(struct ar_runtime *r)
{
	struct ar_list messages;

	do {
		ar_mailbox_take(r->mail, &messages);
		ar_list_splice(&messages, &r->held);
		deliver_messages(r, &messages);
		ar_mailbox_take(r->mail, &r->held);
	} while (!ar_list_empty(&r->held));
}

void ar_runtime_free(struct ar_runtime *r)
{
	if (!r)
		return;
	if (r->host)
		free_host(r);
	r->is_stopped = true;
	deliver_all_messages(r);
	ar_mailbox_close(r->mail);
	uv_close((uv_handle_t *)&r->rejoin, NULL);
	uv_run(&r->loop, UV_RUN_DEFAULT);
	AR_ASSERT(uv_loop_close(&r->loop) == 0);
	ar_mailbox_unref(r->mail);
	ar_runtime_free_tools(r);
	if (r->has_settings)
		ar_settings_fini(&r->settings);
	ar_json_parser_free(r->parser);
	ar_arena_fini(&r->arena);
	ar_free(r);
}
