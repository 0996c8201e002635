/* One connection to a peer: resolve, connect, prove who we are, write, read the answer. The caller is
 * notified through its ask; connections that are kept are peer_pool.c's. A link that is closed forgets
 * its ask first, so no callback comes from a closed link. Owner: the loop thread. */
#include "peer/peer_link.h"
#include "credentials.h"
#include "loopback.h"
#include "mem.h"
#include "server.h"

#include <netinet/tcp.h>
#include <stdio.h>

#define UNACKNOWLEDGED_MS 5000
#define PROBE_AFTER_S 2
#define PROBES 3
#define STREAM_RECEIVE_BUFFER (128 * 1024) /* in the kernel: what a slow client makes the peer pile up here */

/* ---- the end ---- */

static void release(struct ar_peer_link *l)
{
	struct ar_byte_link *link = l->link;

	if (!l->is_closed || l->is_resolving)
		return;
	ar_list_del(&l->node);
	ar_h1_answer_fini(&l->answer);
	ar_buf_fini(&l->request);
	ar_peer_pool_release(&l->server->peers, l->peer);
	ar_free(l);
	ar_byte_link_free(link); /* the last: the server may end with it */
}

static void on_closed(struct ar_byte_link *link)
{
	struct ar_peer_link *l = link->owner;

	l->is_closed = true;
	release(l);
}

void ar_peer_link_close(struct ar_peer_link *l)
{
	if (l->is_closing)
		return;
	l->is_closing = true;
	if (l->ask)
		l->ask->link = NULL;
	l->ask = NULL;
	ar_peer_pool_forget(l);
	ar_deadline_clear(&l->deadline);
	if (l->is_resolving)
		uv_cancel((uv_req_t *)&l->resolve);
	ar_byte_link_close(l->link);
}

void ar_peer_ask_stop(struct ar_peer_ask *ask)
{
	if (ask->link)
		ar_peer_link_close(ask->link);
}

void ar_peer_link_lose(struct ar_peer_link *l, const char *why)
{
	struct ar_peer_ask *ask = l->ask;

	ar_peer_link_close(l);
	if (ask)
		ask->v->lost(ask, why);
}

static void set_deadline(struct ar_peer_link *l, enum ar_deadline_kind kind)
{
	ar_deadline_set(&l->server->deadlines, &l->deadline, kind, uv_now(l->server->loop));
}

static void on_expired(struct ar_deadline *d)
{
	const char *why = d->kind == AR_DEADLINE_PEER_CONNECT ? "it cannot be connected to"
			  : d->kind == AR_DEADLINE_HANDSHAKE  ? "it did not finish the TLS handshake in time"
			  : d->kind == AR_DEADLINE_PEER_REPLY ? "it did not answer in time"
							      : "it sent nothing for too long";

	ar_peer_link_lose(AR_CONTAINER_OF(d, struct ar_peer_link, deadline), why);
}

/* ---- reading ---- */

static void on_stream_opened(struct ar_h1_answer *a)
{
	struct ar_peer_link *l = AR_CONTAINER_OF(a, struct ar_peer_link, answer);
	int size = STREAM_RECEIVE_BUFFER;

	uv_recv_buffer_size(&l->link->u.handle, &size);
	set_deadline(l, AR_DEADLINE_PEER_SILENCE);
	l->ask->v->opened(l->ask, a->as_of);
}

static void on_stream_bytes(struct ar_h1_answer *a, struct ar_str bytes)
{
	struct ar_peer_link *l = AR_CONTAINER_OF(a, struct ar_peer_link, answer);

	if (l->ask)
		l->ask->v->bytes(l->ask, bytes);
}

static const struct ar_h1_answer_vtable stream_callbacks = { on_stream_opened, on_stream_bytes };

/* The answer is there: the connection goes back before the caller goes on, which may want it at once. */
static void answered(struct ar_peer_link *l, bool is_reusable)
{
	struct ar_peer_ask *ask = l->ask;
	struct ar_h1_answer answer = l->answer;

	l->answer = (struct ar_h1_answer){ 0 };
	l->ask = NULL;
	ask->link = NULL;
	if (is_reusable && answer.is_keepalive && !l->is_writing && ar_byte_link_is_flushed(l->link))
		ar_peer_pool_put(l);
	else
		ar_peer_link_close(l);
	if (answer.is_stream)
		ask->v->ended(ask);
	else
		ask->v->answered(ask, &answer);
	ar_h1_answer_fini(&answer);
}

static void on_bytes(struct ar_byte_link *link, struct ar_str bytes)
{
	struct ar_peer_link *l = link->owner;
	enum ar_h1_answer_outcome outcome;
	size_t used;

	/* Whatever an idle connection says, it is of no use any more. */
	if (!l->ask) {
		ar_peer_link_close(l);
		return;
	}
	l->ask->has_bytes = true;
	if (l->answer.is_stream)
		set_deadline(l, AR_DEADLINE_PEER_SILENCE);
	outcome = ar_h1_answer_feed(&l->answer, bytes, &used);
	if (l->is_closing)
		return;
	if (outcome == AR_H1_ANSWER_DONE)
		answered(l, used == bytes.len);
	else if (outcome == AR_H1_ANSWER_BAD)
		ar_peer_link_lose(l, l->answer.fault);
}

static void on_lost(struct ar_byte_link *link)
{
	struct ar_peer_link *l = link->owner;
	char why[128] = "the connection was lost";

	if (link->why)
		snprintf(why, sizeof why, "TLS with it failed: %s", link->why);
	if (!l->ask)
		ar_peer_link_close(l);
	else if (link->has_ended && ar_h1_answer_finish(&l->answer) == AR_H1_ANSWER_DONE)
		answered(l, false);
	else
		ar_peer_link_lose(l, link->has_ended ? l->answer.fault : why);
}

void ar_peer_ask_pause(struct ar_peer_ask *ask)
{
	if (!ask->link)
		return;
	ar_byte_link_read_stop(ask->link->link);
	ar_deadline_clear(&ask->link->deadline);
}

void ar_peer_ask_resume(struct ar_peer_ask *ask)
{
	if (!ask->link)
		return;
	set_deadline(ask->link, AR_DEADLINE_PEER_SILENCE);
	if (!ar_byte_link_read_start(ask->link->link))
		ar_peer_link_lose(ask->link, "the connection was lost");
}

/* ---- writing ---- */

static void make_request(struct ar_peer_link *l, const struct ar_peer_ask *ask)
{
	const char *key = l->link->tls ? NULL : l->server->peers.key; /* a certificate says more than a key */

	ar_buf_clear(&l->request);
	ar_buf_addf(&l->request, "POST /v1/%s HTTP/1.1\r\nHost: %s\r\n", ask->command, l->peer->address);
	if (key)
		ar_buf_addf(&l->request, "Authorization: Bearer %s\r\n", key);
	ar_principal_write_header(ask->who, &ask->from, &l->request);
	ar_buf_addf(&l->request, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
		    ask->body.len);
	ar_buf_adds(&l->request, ask->body);
}

static void on_written(struct ar_byte_link *link, int status)
{
	struct ar_peer_link *l = link->owner;

	l->is_writing = false;
	if (status && !l->is_closing)
		ar_peer_link_lose(l, "the connection was lost");
}

bool ar_peer_link_send(struct ar_peer_link *l, struct ar_peer_ask *ask)
{
	uv_buf_t buf;
	int n;

	make_request(l, ask);
	buf = (uv_buf_t){ l->request.p, l->request.len };
	n = ar_byte_link_try_write(l->link, &buf, 1);
	if (n < 0 && n != UV_EAGAIN) {
		ar_peer_link_close(l);
		return false;
	}
	l->ask = ask;
	ask->link = l;
	ar_h1_answer_init(&l->answer, ask->is_stream ? &stream_callbacks : NULL);
	set_deadline(l, AR_DEADLINE_PEER_REPLY);
	n = n < 0 ? 0 : n;
	if ((size_t)n == buf.len)
		return true;
	buf.base += n;
	buf.len -= (size_t)n;
	l->is_writing = ar_byte_link_write(l->link, &buf, 1, on_written) == 0;
	return true;
}

/* ---- connecting ---- */

/* A request goes out at once, and a peer that does not even acknowledge it is gone: the kernel says so
 * long before the answer is due. A stream on which nothing comes is probed, so that a reader behind a
 * cut network is sent elsewhere in seconds. */
static void set_socket_options(struct ar_peer_link *l)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, PROBE_AFTER_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 1 },
		{ IPPROTO_TCP, TCP_KEEPCNT, PROBES },
	};
	uv_os_fd_t fd;

	uv_tcp_nodelay(&l->link->u.tcp, 1);
	for (size_t i = 0; i < AR_ARRAY_LEN(options) && uv_fileno(&l->link->u.handle, &fd) == 0; i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof options[i].value);
}

static void send_first(struct ar_byte_link *link)
{
	struct ar_peer_link *l = link->owner;
	struct ar_peer_ask *ask = l->ask;

	l->ask = NULL;
	if (!ar_peer_link_send(l, ask)) {
		ask->link = NULL;
		ask->v->lost(ask, "the connection was lost");
	}
}

static const struct ar_byte_link_vtable link_callbacks = {
	.bytes = on_bytes,
	.lost = on_lost,
	.closed = on_closed,
};

static void start_tls(struct ar_peer_link *l)
{
	struct ar_authority a;

	AR_ASSERT(ar_authority_parse(ar_str_from(l->peer->address), &a));
	set_deadline(l, AR_DEADLINE_HANDSHAKE);
	ar_byte_link_secure(l->link, a.host, send_first);
}

static void on_connected(uv_connect_t *req, int status)
{
	struct ar_peer_link *l = AR_CONTAINER_OF(req, struct ar_peer_link, connect);

	if (l->is_closing)
		return;
	set_socket_options(l);
	if (status || !ar_byte_link_read_start(l->link))
		ar_peer_link_lose(l, "it cannot be connected to");
	else if (l->server->tls.mutual)
		start_tls(l);
	else
		send_first(l->link);
}

/* The key of the cluster and what clients say do not leave this machine in the clear. */
static bool connect_to(struct ar_peer_link *l, const struct sockaddr *address)
{
	if (!l->server->tls.mutual && !ar_sockaddr_is_loopback((const union ar_sockaddr *)address)) {
		l->ask->refused =
			"it is on another machine, which needs cluster.tls_certificate here and there";
		return false;
	}
	return uv_tcp_connect(&l->connect, &l->link->u.tcp, address, on_connected) == 0;
}

static const char *why_not(const struct ar_peer_link *l)
{
	return l->ask->refused ? l->ask->refused : "it cannot be connected to";
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
	struct ar_peer_link *l = AR_CONTAINER_OF(req, struct ar_peer_link, resolve);

	l->is_resolving = false;
	if (l->is_closing)
		release(l);
	else if (status || !connect_to(l, found->ai_addr))
		ar_peer_link_lose(l, status ? "its name does not resolve" : why_not(l));
	uv_freeaddrinfo(found);
}

static bool resolve(struct ar_peer_link *l, const struct ar_authority *a)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	char host[AR_HOST_MAX], port[8];

	snprintf(host, sizeof host, "%.*s", AR_STR_ARG(a->host));
	snprintf(port, sizeof port, "%u", a->port);
	l->is_resolving = uv_getaddrinfo(l->server->loop, &l->resolve, on_resolved, host, port, &hints) == 0;
	return l->is_resolving;
}

struct ar_peer_link *ar_peer_link_new(struct ar_http_server *s, struct ar_peer *peer)
{
	struct ar_peer_link *l = ar_new0(sizeof *l);

	l->server = s;
	l->peer = peer;
	peer->link_count++;
	ar_list_init(&l->idle);
	ar_deadline_init(&l->deadline, on_expired);
	ar_list_push(&s->peers.links, &l->node);
	l->link = ar_byte_link_new_outgoing(s, &link_callbacks, l);
	return l;
}

bool ar_peer_link_connect(struct ar_peer_link *l)
{
	struct ar_authority a;
	union ar_sockaddr sa;

	if (!ar_authority_parse(ar_str_from(l->peer->address), &a) || !a.has_port ||
	    a.host.len >= AR_HOST_MAX || !a.host.len)
		return false;
	set_deadline(l, AR_DEADLINE_PEER_CONNECT);
	return ar_authority_address(&a, &sa) ? connect_to(l, &sa.any) : resolve(l, &a);
}
