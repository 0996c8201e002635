/* Requests on one libcurl multi handle, with deadlines of our own and exactly one end each. Loop thread only.
 *
 * No callback of the caller except on_body runs inside libcurl: starts wait in `fresh`, ends in `ending`, and
 * both are worked off from the loop. That is why a callback may start and cancel transfers freely. */
#include "transfer.h"

#include "curl_loop.h"
#include "mem.h"
#include "status.h"
#include "url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define HEADERS_MAX (64 * 1024)
#define READ_BYTES 2048L /* libcurl reads up to a hundred times that before others have their turn */
/* The least that HTTP/2 servers are asked to allow; libcurl takes it for granted until it has read their
 * settings, and a stream over the true limit would be refused. */
#define STREAMS_PER_CONNECTION 100L
#define TLS_CONNECTIONS 10L /* times the streams above; each costs a handshake */
#define NEVER UINT64_MAX
#define STALL_MS 100 /* a timer this late means that the loop stood still, not that the peer was silent */

struct ar_transfer_pool {
	struct ar_curl_loop curl;
	CURLSH *share;
	const char *ca_file;
	bool tls;
	bool http1_seen;
	struct ar_list fresh; /* started, not yet given to libcurl */
	struct ar_list active; /* libcurl works on them */
	struct ar_list ending; /* decided, on_end is due */
	uv_timer_t wake; /* the earliest deadline, or now when fresh or ending has entries */
	uint64_t wake_at;
	int closing;
};

static uint64_t now_ms(void)
{
	return uv_hrtime() / 1000000;
}

static void on_wake(uv_timer_t *timer);

static void wake_at(struct ar_transfer_pool *p, uint64_t at)
{
	uint64_t now = now_ms();

	if (at >= p->wake_at)
		return;
	p->wake_at = at;
	/* The timer counts from the loop's cached time, which may lie far back. */
	uv_update_time(p->curl.loop);
	uv_timer_start(&p->wake, on_wake, at > now ? at - now : 0, 0);
}

static uint64_t due_at(const struct ar_transfer *t)
{
	return t->deadline < t->total_deadline ? t->deadline : t->total_deadline;
}

static void set_phase(struct ar_transfer *t, const char *awaited, uint32_t ms)
{
	t->awaited = awaited;
	t->awaited_ms = ms;
	t->deadline = now_ms() + ms;
	wake_at(t->pool, due_at(t));
}

/* The first decision holds; on_end follows from the loop. */
static void set_end(struct ar_transfer *t, enum ar_transfer_end verdict, const char *why)
{
	if (t->verdict != AR_TRANSFER_OPEN)
		return;
	t->verdict = verdict;
	snprintf(t->why, sizeof(t->why), "%s", why);
	ar_list_del(&t->node);
	ar_list_push(&t->pool->ending, &t->node);
	wake_at(t->pool, 0);
}

static void time_out(struct ar_transfer *t)
{
	bool total = t->total_deadline <= t->deadline;
	char why[128];

	snprintf(why, sizeof(why), "%s within %u ms", total ? "no complete answer" : t->awaited,
		 total ? t->limits.total_ms : t->awaited_ms);
	set_end(t, AR_TRANSFER_TIMEOUT, why);
}

static void end_one(struct ar_transfer *t)
{
	CURL *easy = t->easy;

	curl_multi_remove_handle(t->pool->curl.multi, easy);
	/* libcurl writes into the buffer until its handle forgets it; afterwards the memory is the
	 * caller's. */
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
	t->v->on_end(t, t->verdict, t->why);
	curl_easy_cleanup(easy);
}

static void end_decided(struct ar_transfer_pool *p)
{
	struct ar_list *node;

	while ((node = ar_list_pop(&p->ending)))
		end_one(AR_CONTAINER_OF(node, struct ar_transfer, node));
}

static bool is_out_of_descriptors(const struct ar_transfer *t)
{
	long code = 0;

	curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &code);
	return !t->sent &&
	       (t->socket_errno == EMFILE || t->socket_errno == ENFILE || code == EMFILE || code == ENFILE);
}

/* What libcurl's code means depends mostly on whether the request had left. */
static enum ar_transfer_end verdict_of(struct ar_transfer *t, CURLcode code)
{
	if (code != CURLE_OK && is_out_of_descriptors(t)) {
		snprintf(t->curl_why, sizeof(t->curl_why), "%s",
			 strerror(t->socket_errno ? t->socket_errno : EMFILE));
		return AR_TRANSFER_NO_DESCRIPTORS;
	}
	if (code != CURLE_OK && t->address_fault && !t->sent)
		snprintf(t->curl_why, sizeof(t->curl_why), "its address is not dialled: %s",
			 t->address_fault);
	switch (code) {
	case CURLE_OK:
		if (t->has_head)
			return AR_TRANSFER_COMPLETE;
		/* libcurl takes a connection that closes among the headers for the end of a response without
		 * a body. */
		snprintf(t->curl_why, sizeof(t->curl_why),
			 "the connection was closed in the middle of the headers");
		return AR_TRANSFER_CUT;
	case CURLE_OPERATION_TIMEDOUT:
		return AR_TRANSFER_TIMEOUT;
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return t->sent ? AR_TRANSFER_NOT_HTTP : AR_TRANSFER_UNREACHABLE;
	default:
		return t->sent ? AR_TRANSFER_CUT : AR_TRANSFER_UNREACHABLE;
	}
}

static void on_progress(struct ar_curl_loop *l)
{
	struct ar_transfer_pool *p = AR_CONTAINER_OF(l, struct ar_transfer_pool, curl);
	CURLMsg *msg;
	int left;

	if (p->http1_seen) {
		/* Without HTTP/2 each stream holds a connection, so a small number of them would be a
		 * queue. */
		curl_multi_setopt(l->multi, CURLMOPT_MAX_HOST_CONNECTIONS, 0L);
		p->http1_seen = false;
	}
	while ((msg = curl_multi_info_read(l->multi, &left))) {
		struct ar_transfer *t = NULL;
		enum ar_transfer_end verdict;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&t);
		verdict = verdict_of(t, msg->data.result);
		set_end(t, verdict, t->curl_why[0] ? t->curl_why : curl_easy_strerror(msg->data.result));
	}
	end_decided(p);
}

static void hand_over_fresh(struct ar_transfer_pool *p)
{
	struct ar_list *node;

	while ((node = ar_list_pop(&p->fresh))) {
		struct ar_transfer *t = AR_CONTAINER_OF(node, struct ar_transfer, node);

		ar_list_push(&p->active, node);
		if (curl_multi_add_handle(p->curl.multi, t->easy) != CURLM_OK)
			set_end(t, AR_TRANSFER_UNREACHABLE, "libcurl refused the request");
	}
}

/* Timers run before sockets are read: when the loop stood still, bytes may wait that came in time. */
static bool extend_deadline(struct ar_transfer *t, uint64_t now)
{
	if (now < due_at(t) + STALL_MS)
		return false;
	if (t->deadline <= now)
		t->deadline = now + STALL_MS;
	if (t->total_deadline <= now)
		t->total_deadline = now + STALL_MS;
	return true;
}

/* Decides what is overdue and gives the earliest deadline of the rest. */
static uint64_t expire(struct ar_transfer_pool *p, uint64_t now)
{
	uint64_t next = NEVER;

	AR_LIST_FOR_SAFE (it, &p->active) {
		struct ar_transfer *t = AR_CONTAINER_OF(it, struct ar_transfer, node);

		if (due_at(t) <= now && !extend_deadline(t, now))
			time_out(t);
		else if (due_at(t) < next)
			next = due_at(t);
	}
	return next;
}

static void on_wake(uv_timer_t *timer)
{
	struct ar_transfer_pool *p = timer->data;
	uint64_t next;

	hand_over_fresh(p);
	next = expire(p, now_ms());
	p->wake_at = NEVER;
	if (next != NEVER)
		wake_at(p, next);
	end_decided(p);
}

static size_t on_header(char *bytes, size_t size, size_t count, void *owner)
{
	struct ar_transfer *t = owner;
	size_t len = size * count;

	t->header_bytes += len;
	if (bytes[0] == '\r' || bytes[0] == '\n')
		t->has_head = true; /* the empty line; trailers may follow the body */
	else if (len > 5 && memcmp(bytes, "HTTP/", 5) == 0)
		t->has_head = false; /* the one before was an interim response */
	if (t->header_bytes > HEADERS_MAX)
		set_end(t, AR_TRANSFER_TOO_LARGE, "the response headers are too large");
	if (t->pool->tls && len > 7 && memcmp(bytes, "HTTP/1.", 7) == 0)
		t->pool->http1_seen = true;
	return t->verdict == AR_TRANSFER_OPEN ? len : 0;
}

static size_t on_write(char *bytes, size_t size, size_t count, void *owner)
{
	struct ar_transfer *t = owner;
	size_t len = size * count;

	if (t->verdict != AR_TRANSFER_OPEN)
		return CURL_WRITEFUNC_ERROR;
	t->received += len;
	if (t->received > t->limits.response_max)
		set_end(t, AR_TRANSFER_TOO_LARGE, "the response is too large");
	else if (!t->v->on_body(t, (struct ar_str){ bytes, len }))
		set_end(t, AR_TRANSFER_STOPPED, "stopped");
	if (t->verdict != AR_TRANSFER_OPEN)
		return CURL_WRITEFUNC_ERROR;
	set_phase(t, "no further byte", t->limits.idle_ms);
	return len;
}

/* libcurl says no more of a socket that it did not get than that it could not connect. */
static curl_socket_t on_open_socket(void *owner, curlsocktype purpose AR_UNUSED, struct curl_sockaddr *a)
{
	struct ar_transfer *t = owner;
	int fd;

	t->address_fault = t->fault_of ? t->fault_of(&a->addr) : NULL;
	if (t->address_fault)
		return CURL_SOCKET_BAD;
	fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);

	t->socket_errno = fd < 0 ? errno : 0;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* Called when a connection stands and the request is about to leave. A second call is libcurl repeating it,
 * because a reused connection died or an HTTP/2 server refused the stream: it does not say which, so neither
 * is repeated here. */
static int on_sending(void *owner, char *peer_ip AR_UNUSED, char *own_ip AR_UNUSED, int peer_port AR_UNUSED,
		      int own_port AR_UNUSED)
{
	struct ar_transfer *t = owner;

	if (t->sent)
		set_end(t, AR_TRANSFER_CUT, "the connection was closed before an answer came");
	if (t->verdict != AR_TRANSFER_OPEN)
		return CURL_PREREQFUNC_ABORT;
	t->sent = true;
	set_phase(t, "no first byte", t->limits.first_byte_ms);
	return CURL_PREREQFUNC_OK;
}

static void set_transport(struct ar_transfer *t, CURL *e)
{
	struct ar_transfer_pool *p = t->pool;

	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, READ_BYTES);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)t->limits.connect_ms);
	/* Without it, giving up on a name that does not resolve would block the loop until the resolver
	 * does. */
	curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(e, CURLOPT_SHARE, p->share);
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, p->tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_PIPEWAIT, p->tls ? 1L : 0L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L);
	if (p->ca_file)
		curl_easy_setopt(e, CURLOPT_CAINFO, p->ca_file);
}

static void set_method(struct ar_transfer *t, CURL *e)
{
	if (t->method && ar_str_absent(t->body)) {
		curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
	} else {
		curl_easy_setopt(e, CURLOPT_POST, 1L);
		curl_easy_setopt(e, CURLOPT_POSTFIELDS, t->body.p);
		curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->body.len);
	}
	if (t->method)
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, t->method);
}

static void set_request(struct ar_transfer *t, CURL *e)
{
	curl_easy_setopt(e, CURLOPT_URL, t->url);
	curl_easy_setopt(e, CURLOPT_PROXY, t->fault_of ? "" : ar_url_proxy(t->url));
	set_method(t, e);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(e, CURLOPT_PRIVATE, t);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->curl_why);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, t);
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_sending);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, t);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_write);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
}

void ar_transfer_start(struct ar_transfer_pool *p, struct ar_transfer *t)
{
	t->pool = p;
	t->verdict = AR_TRANSFER_OPEN;
	t->sent = false;
	t->has_head = false;
	t->received = 0;
	t->header_bytes = 0;
	t->socket_errno = 0;
	t->address_fault = NULL;
	t->curl_why[0] = '\0';
	t->total_deadline = now_ms() + t->limits.total_ms;
	set_phase(t, "no connection", t->limits.connect_ms);
	t->easy = curl_easy_init();
	AR_ASSERT(t->easy);
	set_transport(t, t->easy);
	set_request(t, t->easy);
	ar_list_push(&p->fresh, &t->node);
	wake_at(p, 0);
}

void ar_transfer_cancel(struct ar_transfer *t)
{
	set_end(t, AR_TRANSFER_CANCELLED, "cancelled");
	t->verdict = AR_TRANSFER_CANCELLED;
}

void ar_transfer_linger(struct ar_transfer *t, uint32_t ms)
{
	uint64_t until = now_ms() + ms;

	if (until >= t->total_deadline)
		return;
	t->total_deadline = until;
	wake_at(t->pool, due_at(t));
}

bool ar_transfer_is_sent(const struct ar_transfer *t)
{
	return t->sent;
}

int ar_transfer_status(const struct ar_transfer *t)
{
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

struct ar_str ar_transfer_header(const struct ar_transfer *t, const char *name)
{
	struct curl_header *header;

	if (curl_easy_header(t->easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return AR_STR_NONE;
	return ar_str_from(header->value);
}

struct ar_transfer_pool *ar_transfer_pool_new(uv_loop_t *loop, const struct ar_transfer_pool_options *o)
{
	struct ar_transfer_pool *p = ar_new0(sizeof(*p));

	ar_curl_loop_init(&p->curl, loop, on_progress);
	p->tls = o->tls;
	p->ca_file = o->ca_file;
	p->share = curl_share_init();
	curl_share_setopt(p->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
	curl_multi_setopt(p->curl.multi, CURLMOPT_MAX_CONCURRENT_STREAMS, STREAMS_PER_CONNECTION);
	if (p->tls)
		curl_multi_setopt(p->curl.multi, CURLMOPT_MAX_HOST_CONNECTIONS, TLS_CONNECTIONS);
	if (o->kept_connections)
		curl_multi_setopt(p->curl.multi, CURLMOPT_MAXCONNECTS, (long)o->kept_connections);
	ar_list_init(&p->fresh);
	ar_list_init(&p->active);
	ar_list_init(&p->ending);
	uv_timer_init(loop, &p->wake);
	p->wake.data = p;
	p->wake_at = NEVER;
	return p;
}

static void closed_one(struct ar_transfer_pool *p)
{
	if (--p->closing > 0)
		return;
	curl_share_cleanup(p->share);
	ar_free(p);
}

static void on_curl_closed(struct ar_curl_loop *l)
{
	closed_one(AR_CONTAINER_OF(l, struct ar_transfer_pool, curl));
}

static void on_wake_closed(uv_handle_t *handle)
{
	closed_one(handle->data);
}

static void cancel_all(struct ar_list *list)
{
	AR_LIST_FOR_SAFE (it, list)
		ar_transfer_cancel(AR_CONTAINER_OF(it, struct ar_transfer, node));
}

void ar_transfer_pool_close(struct ar_transfer_pool *p)
{
	cancel_all(&p->fresh);
	cancel_all(&p->active);
	end_decided(p);
	p->closing = 2;
	ar_curl_loop_close(&p->curl, on_curl_closed);
	uv_close((uv_handle_t *)&p->wake, on_wake_closed);
}
