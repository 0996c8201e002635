/* The server as a whole: options and defaults, the sweep of the deadlines, drain and close. Owner: the loop
 * thread. */
#include "server.h"
#include "a2a/a2a.h"
#include "admission.h"
#include "json.h"
#include "loopback.h"
#include "mem.h"
#include "peer/pass.h"
#include "peer/tell.h"
#include "rpc/outbox.h"
#include "rpc/stdio_wire.h"
#include "sse.h"
#include "tls/tls_context.h"

#include <signal.h>
#include <stdio.h>

#define SWEEP_MS 250
#define PAUSE_MS 1000 /* between two sweeps, from which on the process stood still */
#define ADMISSION_CHECK_MS 1000 /* how long a stream may outlive what it was opened with */
#define LINGER_MS 2000
#define PEER_IDLE_MS 60000 /* less than the peer's own patience, so that it is we who close */
#define SILENT_HEARTBEATS 3
#define RELOAD_SWEEPS 8 /* between two looks at the certificate files */

static uint32_t or_default(uint32_t value, uint32_t usual)
{
	return value ? value : usual;
}

static void notice(struct ar_http_server *s, bool is_bad, const char *text)
{
	if (s->ops.notice)
		s->ops.notice(s->ops.arg, is_bad, text);
}

static void reload_one(struct ar_http_server *s, struct ar_tls_context *context, bool is_forced)
{
	struct ar_error err = { 0 };

	if (!context)
		return;
	switch (ar_tls_context_refresh(context, is_forced, &err)) {
	case AR_TLS_TAKEN:
		s->counters.tls_reloads++;
		notice(s, false,
		       context == s->tls.mutual
			       ? "new connections between nodes use the certificate that is in the files now"
			       : "new connections get the certificate that is in the files now");
		return;
	case AR_TLS_KEPT:
		notice(s, true, err.msg);
		return;
	case AR_TLS_SAME:
		return;
	}
}

static void reload(struct ar_http_server *s, bool is_forced)
{
	reload_one(s, s->tls.context, is_forced);
	reload_one(s, s->tls.mutual, is_forced);
}

void ar_http_server_reload(struct ar_http_server *s)
{
	reload(s, true);
}

/* Whether the process stood still (stopped, or without a processor) since the last sweep. What peers
 * sent meanwhile waits in the sockets and is read first: nobody is ended for our own pause. Twice in a
 * row is a slow loop, no pause. */
static bool has_paused(struct ar_http_server *s)
{
	uint64_t now = uv_now(s->loop);
	bool is_late = now - s->swept > PAUSE_MS;

	s->is_paused = is_late && !s->is_paused;
	s->swept = now;
	return s->is_paused;
}

static void on_sweep(uv_timer_t *timer)
{
	struct ar_http_server *s = timer->data;
	struct ar_deadline *d;

	if (has_paused(s))
		return;
	if (s->tls.reload_in-- == 0) {
		s->tls.reload_in = RELOAD_SWEEPS;
		reload(s, false);
	}
	while ((d = ar_deadline_pop(&s->deadlines, uv_now(s->loop))))
		d->expired(d);
	if (s->auth && uv_now(s->loop) >= s->next_check) {
		s->next_check = uv_now(s->loop) + ADMISSION_CHECK_MS;
		ar_http_admissions_check(s);
	}
	ar_a2a_sweep(s);
	ar_server_look_at_descriptors(s);
}

/* Being active is its whole purpose. */
static void on_awake(uv_idle_t *handle AR_UNUSED)
{
}

void ar_server_wake(struct ar_http_server *s)
{
	if (!s->is_closing)
		uv_idle_start(&s->awake, on_awake);
}

/* Streams first: what they give to message wires and HTTP/2 connections goes out in the same turn. */
static void on_flush(uv_prepare_t *prepare)
{
	struct ar_http_server *s = prepare->data;

	if (!ar_list_empty(&s->tls.ready))
		ar_tls_flush(s);
	if (!ar_list_empty(&s->streams))
		ar_sse_flush(s);
	if (!ar_list_empty(&s->a2a_due))
		ar_a2a_flush(s);
	if (!ar_list_empty(&s->outboxes))
		ar_outbox_flush(s);
	if (!ar_list_empty(&s->h2.ready))
		ar_h2_flush(s);
	if (ar_list_empty(&s->tls.ready) && ar_list_empty(&s->streams) && ar_list_empty(&s->outboxes) &&
	    ar_list_empty(&s->h2.ready) && ar_list_empty(&s->a2a_due))
		uv_idle_stop(&s->awake);
}

static void set_limits(struct ar_http_server *s, const struct ar_http_options *o)
{
	s->limits.head_bytes = o->max_header_bytes ? o->max_header_bytes : (size_t)16 * 1024;
	s->limits.body_bytes = o->max_body_bytes ? o->max_body_bytes : (size_t)4 * 1024 * 1024;
	s->slots.max = or_default(o->max_connections, 10000);
	s->slots.max_each = o->max_address_connections;
	s->kept_descriptors = o->kept_descriptors;
	s->max_subscribers = or_default(o->max_subscribers, 8000);
	ar_deadlines_init(&s->deadlines);
	s->deadlines.length[AR_DEADLINE_HANDSHAKE] = or_default(o->header_ms, 10000);
	s->deadlines.length[AR_DEADLINE_HEADER] = or_default(o->header_ms, 10000);
	s->deadlines.length[AR_DEADLINE_BODY] = or_default(o->body_ms, 30000);
	s->deadlines.length[AR_DEADLINE_WRITE] = or_default(o->write_ms, 30000);
	s->deadlines.length[AR_DEADLINE_KEEPALIVE] = or_default(o->keepalive_ms, 75000);
	s->deadlines.length[AR_DEADLINE_STRANGER] =
		s->deadlines.length[AR_DEADLINE_KEEPALIVE] < s->deadlines.length[AR_DEADLINE_HEADER]
			? s->deadlines.length[AR_DEADLINE_KEEPALIVE]
			: s->deadlines.length[AR_DEADLINE_HEADER];
	s->deadlines.length[AR_DEADLINE_HEARTBEAT] = or_default(o->heartbeat_ms, 15000);
	s->deadlines.length[AR_DEADLINE_PING] = s->deadlines.length[AR_DEADLINE_HEARTBEAT];
	s->deadlines.length[AR_DEADLINE_PONG] = or_default(o->pong_ms, 20000);
	s->deadlines.length[AR_DEADLINE_LINGER] = LINGER_MS;
	s->deadlines.length[AR_DEADLINE_PEER_CONNECT] = or_default(o->peer_connect_ms, 1000);
	s->deadlines.length[AR_DEADLINE_PEER_REPLY] = or_default(o->peer_reply_ms, 30000);
	s->deadlines.length[AR_DEADLINE_PEER_SILENCE] =
		SILENT_HEARTBEATS * s->deadlines.length[AR_DEADLINE_HEARTBEAT];
	s->deadlines.length[AR_DEADLINE_PEER_IDLE] = PEER_IDLE_MS;
	s->settle_ms = or_default(o->settle_ms, 5000);
}

/* libuv writes without MSG_NOSIGNAL: a peer that is gone would end the process. A choice that the program has
 * made stays. */
static void ignore_sigpipe(void)
{
	struct sigaction now;

	if (sigaction(SIGPIPE, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
		signal(SIGPIPE, SIG_IGN);
}

static void start_handles(struct ar_http_server *s)
{
	uv_timer_init(s->loop, &s->sweep);
	uv_timer_init(s->loop, &s->settle);
	uv_prepare_init(s->loop, &s->flush);
	uv_idle_init(s->loop, &s->awake);
	s->sweep.data = s->settle.data = s->flush.data = s->awake.data = s;
	s->handles = 4;
	s->swept = uv_now(s->loop);
	uv_timer_start(&s->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
	uv_prepare_start(&s->flush, on_flush);
}

static bool has_text(const char *text)
{
	return text && *text;
}

static enum ar_status check_key(const struct ar_http_options *o, struct ar_error *err)
{
	if (o->cluster_listen && !has_text(o->peer_key))
		return ar_fail(err, AR_E_INVALID, "the cluster address '%s' needs a key for peers",
			       o->cluster_listen);
	for (const char *p = o->peer_key; p && *p; p++) {
		if (*p <= ' ' || *p > '~')
			return ar_fail(err, AR_E_INVALID, "the key of the cluster is not plain text");
	}
	return AR_OK;
}

static enum ar_status open_tls(struct ar_http_server *s, const struct ar_http_options *o,
			       struct ar_error *err)
{
	bool has_certificate = has_text(o->tls_certificate);
	enum ar_status st = ar_names_init(&s->names, o->hosts, o->origins, err);

	if (st != AR_OK)
		return st;
	if (has_certificate != has_text(o->tls_key))
		return ar_fail(err, AR_E_INVALID,
			       "tls.certificate and tls.key go together; one of them is empty");
	if (!has_certificate)
		return AR_OK;
	st = ar_tls_context_open(&(struct ar_tls_files){ .certificate = o->tls_certificate,
							 .key = o->tls_key,
							 .client_ca = o->tls_client_ca },
				 &s->tls.context, err);
	if (st != AR_OK)
		return st;
	ar_tls_shared_open(&s->tls);
	s->names.certificate = s->tls.context;
	return AR_OK;
}

/* The other nodes know this one by the host of the address that is advertised. An address can be seen
 * on a connection that comes in, a name cannot: then all nodes need a name in common. */
static enum ar_status find_own_host(const struct ar_http_options *o, char ret[AR_HOST_MAX],
				    struct ar_error *err)
{
	const char *address = has_text(o->cluster_advertise) ? o->cluster_advertise : o->cluster_listen;
	struct ar_authority a;
	union ar_sockaddr sa;

	ret[0] = 0;
	if (!o->cluster_listen)
		return AR_OK;
	if (!ar_authority_parse(ar_str_from(address), &a) || !a.has_port || a.host.len >= AR_HOST_MAX)
		return ar_fail(err, AR_E_INVALID, "cluster address '%s' is not host:port", address);
	snprintf(ret, AR_HOST_MAX, "%.*s", AR_STR_ARG(a.host));
	if (has_text(o->cluster_tls.name) || ar_authority_address(&a, &sa))
		return AR_OK;
	return ar_fail(err, AR_E_INVALID,
		       "cluster.advertise '%s' is a name: set cluster.tls_name to a DNS name that the "
		       "certificates of all nodes have, or advertise an IP address",
		       address);
}

static enum ar_status open_cluster_tls(struct ar_http_server *s, const struct ar_http_options *o,
				       struct ar_error *err)
{
	const struct ar_http_cluster_tls *t = &o->cluster_tls;
	int given = has_text(t->certificate) + has_text(t->key) + has_text(t->ca);
	char host[AR_HOST_MAX];
	enum ar_status st;

	if (!given && !has_text(t->name))
		return AR_OK;
	if (given != 3)
		return ar_fail(
			err, AR_E_INVALID,
			"cluster.tls_certificate, cluster.tls_key and cluster.tls_ca go together; set all "
			"of them or none");
	st = find_own_host(o, host, err);
	if (st != AR_OK)
		return st;
	ar_tls_shared_open(&s->tls);
	return ar_tls_context_open(&(struct ar_tls_files){ .certificate = t->certificate,
							   .key = t->key,
							   .client_ca = t->ca,
							   .is_mutual = true,
							   .name = t->name,
							   .own_host = host },
				   &s->tls.mutual, err);
}

static enum ar_status open_cluster(struct ar_http_server *s, const struct ar_http_options *o,
				   struct ar_error *err)
{
	enum ar_status st = open_cluster_tls(s, o, err);

	if (st != AR_OK || !o->cluster_listen)
		return st;
	if (has_text(o->cluster_advertise))
		st = ar_listener_check_cluster(s, o->cluster_advertise, "cluster.advertise", err);
	return st == AR_OK ? ar_listener_open_cluster(s, o->cluster_listen, err) : st;
}

static enum ar_status open_listeners(struct ar_http_server *s, const struct ar_http_options *o,
				     struct ar_error *err)
{
	enum ar_status st = check_key(o, err);

	if (st == AR_OK)
		st = open_tls(s, o, err);
	if (st == AR_OK && !o->listen && !o->socket_path && !o->listen_fd && !o->socket_fd && !o->stdio &&
	    !o->is_embedded)
		st = ar_fail(err, AR_E_INVALID,
			     "the HTTP server has neither a listen address nor a socket path");
	if (st == AR_OK && o->listen_fd)
		st = ar_listener_take(s, &s->tcp, o->listen_fd, o->is_guarded, err);
	else if (st == AR_OK && o->listen)
		st = ar_listener_open_tcp(s, o->listen, o->is_guarded, err);
	if (st == AR_OK && o->socket_fd)
		st = ar_listener_take(s, &s->local, o->socket_fd, o->is_guarded, err);
	else if (st == AR_OK && o->socket_path)
		st = ar_listener_open_unix(s, o->socket_path, err);
	if (st == AR_OK && o->peer_key)
		st = open_cluster(s, o, err);
	if (st == AR_OK && o->stdio)
		st = ar_stdio_open(s, o->stdio, err);
	return st;
}

enum ar_status ar_http_server_open(uv_loop_t *loop, const struct ar_http_options *o,
				   struct ar_http_server **ret, struct ar_error *err)
{
	struct ar_http_server *s = ar_new0(sizeof *s);
	enum ar_status st;

	s->loop = loop;
	s->control = o->control;
	s->workers = o->workers;
	s->ops = o->ops ? *o->ops : (struct ar_http_ops){ 0 };
	set_limits(s, o);
	ar_server_look_at_descriptors(s);
	ar_peer_users_init(&s->users);
	ar_peers_init(&s->peers, o->peer_key);
	ar_tls_shared_init(&s->tls);
	ar_h2_shared_init(&s->h2);
	ar_list_init(&s->settling);
	ar_list_init(&s->links);
	ar_list_init(&s->streams);
	ar_list_init(&s->a2a);
	ar_list_init(&s->a2a_due);
	ar_list_init(&s->outboxes);
	ar_list_init(&s->tells);
	ar_list_init(&s->passes);
	ar_list_init(&s->admissions);
	s->auth = o->auth;
	s->parser = ar_json_parser_new();
	s->read_buffer = ar_grow(NULL, AR_READ_BUFFER, 1);
	if (!o->is_embedded)
		ignore_sigpipe();
	start_handles(s);
	st = open_listeners(s, o, err);
	if (st != AR_OK) {
		ar_http_server_close(s, NULL, NULL);
		return st;
	}
	*ret = s;
	return AR_OK;
}

static uint16_t port_of(const struct ar_listener *l)
{
	union ar_sockaddr sa;
	int len = sizeof sa;

	if (!l->is_open || uv_tcp_getsockname(&l->u.tcp, &sa.any, &len))
		return 0;
	return ntohs(sa.any.sa_family == AF_INET6 ? sa.v6.sin6_port : sa.v4.sin_port);
}

uint16_t ar_http_server_port(const struct ar_http_server *s)
{
	return port_of(&s->tcp);
}

uint16_t ar_http_server_cluster_port(const struct ar_http_server *s)
{
	return port_of(&s->cluster);
}

const struct ar_http_counters *ar_http_server_counters(const struct ar_http_server *s)
{
	return &s->counters;
}

void ar_http_server_drain(struct ar_http_server *s)
{
	if (s->is_draining)
		return;
	s->is_draining = true;
	ar_listener_close(&s->tcp);
	ar_listener_close(&s->local);
	ar_listener_close(&s->cluster);
	AR_LIST_FOR_SAFE (it, &s->links) {
		struct ar_byte_link *l = AR_CONTAINER_OF(it, struct ar_byte_link, node);

		l->v->drain(l);
	}
}

void ar_server_check_closed(struct ar_http_server *s)
{
	ar_http_closed_fn *closed = s->closed;
	void *arg = s->closed_arg;

	if (!s->is_closing || s->handles || !ar_list_empty(&s->links) || !ar_list_empty(&s->peers.links))
		return;
	ar_peer_users_fini(&s->users);
	ar_slots_fini(&s->slots);
	ar_peers_fini(&s->peers);
	ar_names_fini(&s->names);
	ar_tls_shared_fini(&s->tls);
	ar_h2_shared_fini(&s->h2);
	ar_json_parser_free(s->parser);
	ar_ws_spare_fini(&s->ws_spare);
	ar_h1_spares_fini(s);
	ar_free(s->read_buffer);
	ar_free(s);
	if (closed)
		closed(arg);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct ar_http_server *s = handle->data;

	s->handles--;
	ar_server_check_closed(s);
}

void ar_http_server_close(struct ar_http_server *s, ar_http_closed_fn *cb, void *arg)
{
	AR_ASSERT(!s->is_closing);
	s->is_closing = s->is_draining = true;
	s->closed = cb;
	s->closed_arg = arg;
	ar_listener_close(&s->tcp);
	ar_listener_close(&s->local);
	ar_listener_close(&s->cluster);
	AR_LIST_FOR_SAFE (it, &s->links) {
		struct ar_byte_link *l = AR_CONTAINER_OF(it, struct ar_byte_link, node);

		l->v->abort(l);
	}
	ar_tells_close(s);
	ar_passes_close(s);
	ar_peers_close(&s->peers);
	uv_close((uv_handle_t *)&s->sweep, on_handle_closed);
	uv_close((uv_handle_t *)&s->settle, on_handle_closed);
	uv_close((uv_handle_t *)&s->flush, on_handle_closed);
	uv_close((uv_handle_t *)&s->awake, on_handle_closed);
}
