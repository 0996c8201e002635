/* See link_client.h. libcurl is asked for a connection alone (CURLOPT_CONNECT_ONLY); after that the socket is
 * watched here, and bytes go through curl_easy_recv and curl_easy_send, below which TLS is. */
#include "link_client.h"

#include "base64.h"
#include "curl_loop.h"
#include "mem.h"
#include "upgrade_answer.h"
#include "url.h"
#include "ws_accept.h"
#include "ws_codec.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define OPEN_MS 20000
#define CLOSE_MS 2000 /* to send what waits when the owner closes */
#define READ_BYTES ((size_t)64 * 1024)
#define READS_PER_TURN 32
#define KEY_BYTES 16
#define TOKEN_MAX 4096

enum phase {
	CONNECTING, /* libcurl works */
	UPGRADING,
	OPEN,
	ENDING, /* our close frame is the last in the queue */
	OVER, /* handles are being closed */
};

struct ar_link_client {
	struct ar_link port;
	struct ar_link_client_options o; /* its texts are not kept */
	struct ar_curl_loop curl;
	CURL *easy;
	uv_poll_t poll;
	uv_timer_t
		timer; /* of the start, of the close; and what has to be done outside a call of the owner */
	uv_idle_t again; /* bytes may wait in TLS, where no poll sees them */
	struct ar_ws_codec codec;
	struct ar_ws_spare spare;
	struct ar_buf queue; /* behind what is being written */
	struct ar_buf writing; /* stays in place until all of it is sent: TLS wants the same bytes again */
	size_t written; /* of `writing` */
	struct ar_buf answer; /* to the request for the upgrade */
	char *accept; /* what the answer must have */
	char *host; /* of the request, with its port */
	char *path;
	char *token;
	enum phase phase;
	unsigned handles; /* not closed yet */
	bool has_poll;
	bool is_owned; /* the owner is called */
	bool has_sent; /* the owner waits for on_drained */
	char why[CURL_ERROR_SIZE];
};

static struct ar_link_client *of_port(const struct ar_link *l)
{
	return AR_CONTAINER_OF(l, struct ar_link_client, port);
}

/* ---- the end ---- */

static void free_client(struct ar_link_client *c)
{
	ar_ws_codec_fini(&c->codec);
	ar_ws_spare_fini(&c->spare);
	ar_buf_fini(&c->queue);
	ar_buf_fini(&c->writing);
	ar_buf_fini(&c->answer);
	ar_free(c->accept);
	ar_free(c->host);
	ar_free(c->path);
	if (c->token)
		explicit_bzero(c->token, strlen(c->token));
	ar_free(c->token);
	ar_free(c);
}

static void on_curl_closed(struct ar_curl_loop *l)
{
	struct ar_link_client *c = AR_CONTAINER_OF(l, struct ar_link_client, curl);

	if (--c->handles == 0)
		free_client(c);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct ar_link_client *c = handle->data;

	if (--c->handles == 0)
		free_client(c);
}

/* The socket is libcurl's: it is not watched any more when libcurl closes it. */
static void end_client(struct ar_link_client *c)
{
	if (c->phase == OVER)
		return;
	c->phase = OVER;
	c->handles = 3 + c->has_poll;
	if (c->has_poll) {
		uv_poll_stop(&c->poll);
		uv_close((uv_handle_t *)&c->poll, on_handle_closed);
	}
	uv_close((uv_handle_t *)&c->timer, on_handle_closed);
	uv_close((uv_handle_t *)&c->again, on_handle_closed);
	curl_multi_remove_handle(c->curl.multi, c->easy);
	curl_easy_cleanup(c->easy);
	ar_curl_loop_close(&c->curl, on_curl_closed);
}

/* Before there is a link. */
static void fail(struct ar_link_client *c, enum ar_link_failure failure, const char *why)
{
	if (c->is_owned) {
		c->is_owned = false;
		c->o.on_failed(c->o.arg, failure, why);
	}
	end_client(c);
}

/* Of a link. Not from within a call of the owner. */
static void lose(struct ar_link_client *c, struct ar_str why)
{
	bool is_owned = c->is_owned;

	c->is_owned = false;
	if (is_owned)
		c->port.on_close(c->port.arg, why);
	end_client(c);
}

static void break_off(struct ar_link_client *c, const char *why)
{
	if (c->phase == UPGRADING)
		fail(c, AR_LINK_UNREACHABLE, why);
	else
		lose(c, ar_str_from(why));
}

/* ---- output ---- */

static void on_ready(uv_poll_t *poll, int status, int events);

static void watch(struct ar_link_client *c)
{
	bool has_output = c->written < c->writing.len || c->queue.len;

	if (c->phase != OVER &&
	    uv_poll_start(&c->poll, UV_READABLE | (has_output ? UV_WRITABLE : 0), on_ready))
		break_off(c, "the connection cannot be watched");
}

/* False: the connection is broken. */
static bool write_some(struct ar_link_client *c)
{
	while (c->written < c->writing.len || c->queue.len) {
		size_t sent = 0;
		CURLcode rc;

		if (c->written == c->writing.len) {
			ar_buf_fini(&c->writing);
			c->writing = c->queue;
			c->queue = (struct ar_buf){ 0 };
			c->written = 0;
		}
		rc = curl_easy_send(c->easy, c->writing.p + c->written, c->writing.len - c->written, &sent);
		if (rc == CURLE_AGAIN)
			return true;
		if (rc != CURLE_OK)
			return false;
		c->written += sent;
	}
	ar_buf_fini(&c->writing);
	c->written = 0;
	return true;
}

static void flush(struct ar_link_client *c)
{
	if (!write_some(c)) {
		break_off(c, "the connection is lost");
		return;
	}
	if (c->writing.len || c->queue.len)
		return;
	if (c->phase == ENDING) {
		end_client(c);
	} else if (c->phase == OPEN && c->has_sent) {
		c->has_sent = false;
		if (c->is_owned && c->port.on_drained)
			c->port.on_drained(c->port.arg);
	}
}

static size_t waiting(const struct ar_link *l)
{
	const struct ar_link_client *c = of_port(l);

	return c->queue.len + c->writing.len - c->written;
}

static void on_overflow(uv_timer_t *timer)
{
	lose(timer->data, AR_STR("more waits than the other end reads"));
}

/* What is sent leaves when the loop looks at the socket: it does so in this turn or the next. */
static enum ar_status send_message(struct ar_link *l, struct ar_str message)
{
	struct ar_link_client *c = of_port(l);

	if (c->phase != OPEN || !c->is_owned)
		return AR_E_UNAVAILABLE;
	if (message.len > AR_LINK_MESSAGE_MAX)
		return AR_E_LIMIT;
	if (waiting(l) + message.len > AR_LINK_QUEUE_MAX) {
		uv_timer_start(&c->timer, on_overflow, 0, 0);
		return AR_E_LIMIT;
	}
	ar_ws_client_binary(&c->queue, message);
	c->has_sent = true;
	uv_poll_start(&c->poll, UV_READABLE | UV_WRITABLE, on_ready);
	return AR_OK;
}

static void on_close_late(uv_timer_t *timer)
{
	end_client(timer->data);
}

static void close_link(struct ar_link *l, struct ar_str why)
{
	struct ar_link_client *c = of_port(l);

	c->is_owned = false;
	if (c->phase != OPEN)
		return;
	c->phase = ENDING;
	ar_ws_client_close(&c->queue, AR_WS_NORMAL, why);
	uv_timer_start(&c->timer, on_close_late, CLOSE_MS, 0);
	uv_poll_start(&c->poll, UV_READABLE | UV_WRITABLE, on_ready);
}

static const struct ar_link_vtable port_vtable = { send_message, waiting, close_link };

/* ---- input ---- */

static void on_message(struct ar_ws_codec *codec, struct ar_str message)
{
	struct ar_link_client *c = AR_CONTAINER_OF(codec, struct ar_link_client, codec);

	if (c->phase == OPEN && c->is_owned)
		c->port.on_message(c->port.arg, message);
}

static void on_pong(struct ar_ws_codec *codec AR_UNUSED)
{
}

static bool takes_more(struct ar_ws_codec *codec)
{
	return AR_CONTAINER_OF(codec, struct ar_link_client, codec)->phase == OPEN;
}

static const struct ar_ws_codec_vtable codec_callbacks = { on_message, on_pong, takes_more };

static void feed(struct ar_link_client *c, struct ar_str bytes)
{
	struct ar_buf out = { 0 };
	size_t used;
	bool goes_on = ar_ws_feed(&c->codec, bytes, &out, &used);

	if (c->phase == OPEN)
		ar_buf_adds(&c->queue, ar_buf_str(&out));
	ar_buf_fini(&out);
	if (goes_on || c->phase != OPEN)
		return;
	c->phase = ENDING;
	uv_timer_start(&c->timer, on_close_late, CLOSE_MS, 0);
	if (c->is_owned) {
		c->is_owned = false;
		c->port.on_close(c->port.arg, AR_STR("the daemon has closed the link"));
	}
}

/* ---- the upgrade ---- */

static void open_link(struct ar_link_client *c, struct ar_str node, struct ar_str rest)
{
	struct ar_buf answer = c->answer;

	c->answer = (struct ar_buf){ 0 };
	c->phase = OPEN;
	c->port.v = &port_vtable;
	c->codec = (struct ar_ws_codec){ .v = &codec_callbacks,
					 .spare = &c->spare,
					 .cap = AR_LINK_MESSAGE_MAX,
					 .is_binary = true,
					 .is_client = true };
	uv_timer_stop(&c->timer);
	c->o.on_open(c->o.arg, &c->port, node);
	if (rest.len && c->phase == OPEN)
		feed(c, rest);
	ar_buf_fini(&answer);
}

static void refuse(struct ar_link_client *c, int status)
{
	char why[128];

	if (status == 401 || status == 403) {
		fail(c, AR_LINK_DENIED, "the daemon does not accept the token of this worker");
		return;
	}
	snprintf(why, sizeof why, "the daemon answers with status %d", status);
	fail(c, status >= 500 || status == 429 || status == 408 ? AR_LINK_UNREACHABLE : AR_LINK_REFUSED, why);
}

static void read_answer(struct ar_link_client *c, struct ar_str bytes)
{
	struct ar_upgrade_answer answer;

	ar_buf_adds(&c->answer, bytes);
	switch (ar_upgrade_answer_read(ar_buf_str(&c->answer), ar_str_from(c->accept),
				       AR_STR(AR_LINK_PROTOCOL), &answer)) {
	case AR_UPGRADE_MORE:
		return;
	case AR_UPGRADE_DONE:
		open_link(c, answer.node,
			  ar_str_sub(ar_buf_str(&c->answer), answer.head_bytes, c->answer.len));
		return;
	case AR_UPGRADE_REFUSED:
		refuse(c, answer.status);
		return;
	case AR_UPGRADE_BAD:
		fail(c, AR_LINK_REFUSED, "the other end is no daemon that takes workers");
		return;
	}
}

static void on_again(uv_idle_t *again);

/* Until nothing is there, or others should have a turn. */
static void read_some(struct ar_link_client *c)
{
	char room[READ_BYTES];

	uv_idle_stop(&c->again);
	for (int i = 0; i < READS_PER_TURN && c->phase != OVER; i++) {
		size_t len = 0;
		CURLcode rc = curl_easy_recv(c->easy, room, sizeof room, &len);

		if (rc == CURLE_AGAIN)
			return;
		if (rc != CURLE_OK || len == 0) {
			break_off(c, "the connection is lost");
			return;
		}
		if (c->phase == UPGRADING)
			read_answer(c, (struct ar_str){ room, len });
		else if (c->phase == OPEN)
			feed(c, (struct ar_str){ room, len });
	}
	if (c->phase != OVER)
		uv_idle_start(&c->again, on_again);
}

static void step(struct ar_link_client *c, bool is_readable)
{
	if (is_readable)
		read_some(c);
	if (c->phase != OVER)
		flush(c);
	if (c->phase != OVER)
		watch(c);
}

static void on_again(uv_idle_t *again)
{
	step(again->data, true);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	step(poll->data, status < 0 || (events & UV_READABLE));
}

static void write_request(struct ar_link_client *c)
{
	struct ar_arena a = { 0 };
	unsigned char bytes[KEY_BYTES];
	struct ar_str key;

	AR_ASSERT(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
	key = ar_base64(&a, (struct ar_str){ (const char *)bytes, sizeof bytes });
	c->accept = ar_str_dup(ar_ws_accept(&a, key));
	ar_buf_addf(&c->queue,
		    "GET %s/v1/worker HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
		    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %.*s\r\n"
		    "Sec-WebSocket-Protocol: " AR_LINK_PROTOCOL "\r\nAuthorization: Bearer %s\r\n"
		    "User-Agent: agentd/" AR_VERSION "\r\n\r\n",
		    c->path, c->host, AR_STR_ARG(key), c->token);
	ar_arena_fini(&a);
}

/* ---- the connection ---- */

static void on_connected(struct ar_link_client *c)
{
	curl_socket_t fd = CURL_SOCKET_BAD;

	if (curl_easy_getinfo(c->easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd == CURL_SOCKET_BAD ||
	    uv_poll_init_socket(c->curl.loop, &c->poll, fd) != 0) {
		fail(c, AR_LINK_UNREACHABLE, "the connection cannot be watched");
		return;
	}
	c->has_poll = true;
	c->poll.data = c;
	c->phase = UPGRADING;
	write_request(c);
	step(c, false);
}

static void on_progress(struct ar_curl_loop *l)
{
	struct ar_link_client *c = AR_CONTAINER_OF(l, struct ar_link_client, curl);
	int left;
	const CURLMsg *m = c->phase == CONNECTING ? curl_multi_info_read(l->multi, &left) : NULL;
	CURLcode rc;

	if (!m || m->msg != CURLMSG_DONE)
		return;
	rc = m->data.result;
	if (rc == CURLE_OK) {
		on_connected(c);
		return;
	}
	fail(c,
	     rc == CURLE_PEER_FAILED_VERIFICATION || rc == CURLE_SSL_CACERT_BADFILE ||
			     rc == CURLE_SSL_ISSUER_ERROR
		     ? AR_LINK_UNTRUSTED
		     : AR_LINK_UNREACHABLE,
	     c->why[0] ? c->why : curl_easy_strerror(rc));
}

static void on_late(uv_timer_t *timer)
{
	fail(timer->data, AR_LINK_UNREACHABLE, "no answer came in time");
}

/* With a file of its own no authority of the system counts. */
static void set_options(struct ar_link_client *c, const char *url, const char *ca_file)
{
	CURL *e = c->easy;

	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->why);
	curl_easy_setopt(e, CURLOPT_URL, url);
	curl_easy_setopt(e, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L);
	curl_easy_setopt(e, CURLOPT_PROXY, ar_url_proxy(url));
	curl_easy_setopt(e, CURLOPT_HTTPPROXYTUNNEL, 1L);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, 1L);
	if (!ca_file)
		return;
	curl_easy_setopt(e, CURLOPT_CAINFO, ca_file);
	curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
}

/* ---- the start ---- */

static bool is_token(struct ar_str token)
{
	for (size_t i = 0; i < token.len; i++) {
		if (token.p[i] <= ' ' || token.p[i] > '~')
			return false;
	}
	return token.len > 0 && token.len <= TOKEN_MAX;
}

static char *part_of(CURLU *u, CURLUPart part, unsigned flags)
{
	char *text = NULL, *copy;

	if (curl_url_get(u, part, &text, flags) != CURLUE_OK)
		return ar_str_dup(AR_STR(""));
	copy = ar_str_dup(ar_str_from(text));
	curl_free(text);
	return copy;
}

static void read_url(struct ar_link_client *c, const char *url)
{
	CURLU *u = curl_url();
	struct ar_buf host = { 0 };
	char *name, *port;
	size_t len;

	AR_ASSERT(u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK);
	name = part_of(u, CURLUPART_HOST, 0);
	port = part_of(u, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
	c->path = part_of(u, CURLUPART_PATH, 0);
	for (len = strlen(c->path); len && c->path[len - 1] == '/';)
		c->path[--len] = '\0';
	ar_buf_addf(&host, *port ? "%s:%s" : "%s", name, port);
	c->host = ar_str_dup(ar_buf_str(&host));
	ar_buf_fini(&host);
	ar_free(name);
	ar_free(port);
	curl_url_cleanup(u);
}

static enum ar_status check(const struct ar_link_client_options *o, struct ar_error *err)
{
	struct ar_url url;

	if (!ar_url_parse(o->url, &url) || url.has_query || url.has_user)
		return ar_fail(err, AR_E_INVALID,
			       "'%.200s' is not the address of a daemon, such as https://agents.example:7717",
			       o->url);
	if (!ar_url_is_safe(o->url))
		return ar_fail(err, AR_E_INVALID,
			       "'%.200s' would send the token in the clear; use https, or a daemon on this "
			       "machine",
			       o->url);
	if (!is_token(o->token))
		return ar_fail(err, AR_E_INVALID, "the token is empty or has characters that no token has");
	return AR_OK;
}

enum ar_status ar_link_client_start(uv_loop_t *loop, const struct ar_link_client_options *o,
				    struct ar_link_client **ret, struct ar_error *err)
{
	struct ar_link_client *c;

	if (check(o, err) != AR_OK)
		return err->status;
	c = ar_new0(sizeof *c);
	c->o = *o;
	c->phase = CONNECTING;
	c->is_owned = true;
	c->token = ar_str_dup(o->token);
	read_url(c, o->url);
	ar_curl_loop_init(&c->curl, loop, on_progress);
	uv_timer_init(loop, &c->timer);
	uv_idle_init(loop, &c->again);
	c->timer.data = c->again.data = c;
	c->easy = curl_easy_init();
	AR_ASSERT(c->easy);
	set_options(c, o->url, o->ca_file);
	uv_update_time(loop);
	uv_timer_start(&c->timer, on_late, o->timeout_ms ? o->timeout_ms : OPEN_MS, 0);
	curl_multi_add_handle(c->curl.multi, c->easy);
	*ret = c;
	return AR_OK;
}

void ar_link_client_cancel(struct ar_link_client *c)
{
	c->is_owned = false;
	end_client(c);
}
