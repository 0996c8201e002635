/* See http.h. Every request has handles of its own: a command line makes few, and none has to wait for
 * another. */
#include "http.h"
#include "clock.h"
#include "mem.h"
#include "url.h"

#include <curl/curl.h>
#include <stdlib.h>

#define REPLY_MAX ((size_t)64 * 1024 * 1024)
#define CONNECT_MS 5000L
#define POLL_MS 1000

struct run {
	const struct ar_http_request *request;
	struct ar_http_reply *reply;
	CURL *easy;
	CURLM *multi;
	struct curl_slist *headers;
	ar_usec now; /* before the bytes that are being read arrived at us */
	ar_usec heard; /* when the last byte was read */
	bool is_stopped;
	char why[CURL_ERROR_SIZE];
};

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct run *x = arg;
	size_t len = size * count;

	x->heard = x->now;
	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->reply->status);
	if (x->request->sink && x->reply->status == 200) {
		x->is_stopped = !x->request->sink(x->request->arg, (struct ar_str){ bytes, len });
		return x->is_stopped ? 0 : len;
	}
	ar_buf_add(&x->reply->body, bytes, len);
	return x->reply->body.failed ? 0 : len;
}

static void set_body(struct run *x)
{
	struct ar_str body = x->request->body;

	if (ar_str_absent(body))
		return;
	x->headers = curl_slist_append(x->headers, "Content-Type: application/json");
	x->headers =
		curl_slist_append(x->headers, "Expect:"); /* the body is small: no round trip to ask for it */
	curl_easy_setopt(x->easy, CURLOPT_POST, 1L);
	curl_easy_setopt(x->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
	curl_easy_setopt(x->easy, CURLOPT_POSTFIELDS, body.p);
}

static void set_bearer(struct run *x)
{
	struct ar_buf line = { 0 };

	if (!x->request->bearer)
		return;
	ar_buf_addf(&line, "Authorization: Bearer %s", x->request->bearer);
	ar_buf_addc(&line, '\0');
	x->headers = curl_slist_append(x->headers, line.p);
	ar_buf_fini(&line);
}

static void set_headers(struct run *x)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(x->request->headers); i++) {
		if (x->request->headers[i])
			x->headers = curl_slist_append(x->headers, x->request->headers[i]);
	}
}

/* The curl of most systems has a file of its own in mind, and does not look at the variable that OpenSSL
 * knows. */
static void set_authorities(struct run *x)
{
	const char *file = x->request->cacert ? x->request->cacert : getenv("SSL_CERT_FILE");

	if (file && *file)
		curl_easy_setopt(x->easy, CURLOPT_CAINFO, file);
}

static void set_up(struct run *x)
{
	const struct ar_http_request *r = x->request;

	curl_easy_setopt(x->easy, CURLOPT_URL, r->url);
	curl_easy_setopt(x->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(x->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(x->easy, CURLOPT_ERRORBUFFER, x->why);
	curl_easy_setopt(x->easy, CURLOPT_CONNECTTIMEOUT_MS, r->connect_ms ? r->connect_ms : CONNECT_MS);
	curl_easy_setopt(x->easy, CURLOPT_TIMEOUT_MS, r->total_ms);
	curl_easy_setopt(x->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(x->easy, CURLOPT_WRITEDATA, x);
	if (r->socket)
		curl_easy_setopt(x->easy, CURLOPT_UNIX_SOCKET_PATH, r->socket);
	curl_easy_setopt(x->easy, CURLOPT_PROXY, r->is_local ? "" : ar_url_proxy(r->url));
	set_authorities(x);
	set_body(x);
	set_bearer(x);
	set_headers(x);
	if (x->headers)
		curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers);
}

/* Waits for the network, a signal or the caller's own descriptor; false when one of the callbacks ends it. */
static bool wait_more(struct run *x)
{
	const struct ar_http_request *r = x->request;
	struct curl_waitfd fds[2] = { { .fd = -1 }, { .fd = -1 } }; /* the signal, the caller's */
	struct curl_waitfd watched[2];
	unsigned count = 0;
	int own = -1;

	if (r->rest && !r->rest(r->arg, &own)) {
		x->is_stopped = true;
		return false;
	}
	fds[0].fd = r->signal_fd;
	fds[1].fd = own;
	for (size_t i = 0; i < AR_ARRAY_LEN(fds); i++) {
		fds[i].events = CURL_WAIT_POLLIN;
		if (fds[i].fd >= 0)
			watched[count++] = fds[i];
	}
	curl_multi_poll(x->multi, watched, count, POLL_MS, NULL);
	for (unsigned i = 0; i < count && !x->is_stopped; i++) {
		if (watched[i].revents)
			x->is_stopped = watched[i].fd == own ? !r->readable(r->arg) : !r->interrupted(r->arg);
	}
	return !x->is_stopped;
}

/* Not libcurl's low-speed limit: it counts bytes in a second, and a heartbeat of three bytes is none to
 * it. */
static bool is_silent(struct run *x)
{
	return x->request->idle_ms && x->now - x->heard > x->request->idle_ms * 1000;
}

/* The clock is read before the bytes: what waits in the socket counts even when this process was stopped for
 * a while. */
static CURLcode perform(struct run *x)
{
	struct ar_clock *clock = ar_clock_system();
	int active = 1, left;
	CURLMsg *message;

	x->heard = clock->mono(clock);
	while (active) {
		x->now = clock->mono(clock);
		if (curl_multi_perform(x->multi, &active) != CURLM_OK)
			return CURLE_FAILED_INIT;
		if (active && is_silent(x))
			return CURLE_OPERATION_TIMEDOUT;
		if (active && !wait_more(x))
			return CURLE_ABORTED_BY_CALLBACK;
	}
	message = curl_multi_info_read(x->multi, &left);
	return message ? message->data.result : CURLE_FAILED_INIT;
}

static void clean_up(struct run *x)
{
	curl_multi_remove_handle(x->multi, x->easy);
	curl_easy_cleanup(x->easy);
	curl_slist_free_all(x->headers);
}

static enum ar_status conclude(struct run *x, CURLcode code, struct ar_error *err)
{
	const char *why = x->why[0] ? x->why : curl_easy_strerror(code);

	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->reply->status);
	if (x->is_stopped)
		return ar_fail(err, AR_E_CANCELED, "stopped");
	if (x->reply->body.failed)
		return ar_fail(err, AR_E_LIMIT, "the reply is over %zu bytes", REPLY_MAX);
	switch (code) {
	case CURLE_OK:
		return AR_OK;
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
		if (x->request->socket) /* libcurl would name the host of the url, which is not asked */
			return ar_fail(err, AR_E_UNAVAILABLE, "nothing answers at the socket %s",
				       x->request->socket);
		return ar_fail(err, AR_E_UNAVAILABLE, "%s", why);
	case CURLE_OPERATION_TIMEDOUT:
		return ar_fail(err, AR_E_TIMEOUT, "%s", why);
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return ar_fail(err, AR_E_INVALID, "%s", why);
	default:
		return ar_fail(err, AR_E_IO, "%s", why);
	}
}

enum ar_status ar_http_run(const struct ar_http_request *r, struct ar_http_reply *ret, struct ar_error *err)
{
	struct run x = { .request = r, .reply = ret, .easy = curl_easy_init(), .multi = curl_multi_init() };
	enum ar_status st;

	AR_ASSERT(x.easy && x.multi);
	*ret = (struct ar_http_reply){ .body.cap = REPLY_MAX };
	set_up(&x);
	curl_multi_add_handle(x.multi, x.easy);
	st = conclude(&x, perform(&x), err);
	clean_up(&x);
	curl_multi_cleanup(x.multi);
	return st;
}

/* ---- several at once ---- */

/* owner: its set */
struct ar_http_transfer {
	struct run x;
	struct ar_http_request request;
	struct ar_http_reply reply;
	ar_http_done_fn *done;
	struct ar_http_set *set;
	struct ar_http_transfer *next;
};

struct ar_http_set {
	CURLM *multi;
	struct ar_http_transfer *first;
};

struct ar_http_set *ar_http_set_new(void)
{
	struct ar_http_set *s = ar_new0(sizeof(*s));

	s->multi = curl_multi_init();
	AR_ASSERT(s->multi);
	return s;
}

void ar_http_set_free(struct ar_http_set *s)
{
	while (s->first)
		ar_http_cancel(s->first);
	curl_multi_cleanup(s->multi);
	ar_free(s);
}

struct ar_http_transfer *ar_http_start(struct ar_http_set *s, const struct ar_http_request *r,
				       ar_http_done_fn *done)
{
	struct ar_http_transfer *t = ar_new0(sizeof(*t));
	struct ar_clock *clock = ar_clock_system();

	*t = (struct ar_http_transfer){ .request = *r, .done = done, .set = s, .next = s->first };
	t->x = (struct run){ .request = &t->request,
			     .reply = &t->reply,
			     .easy = curl_easy_init(),
			     .multi = s->multi,
			     .heard = clock->mono(clock) };
	AR_ASSERT(t->x.easy);
	t->reply.body.cap = REPLY_MAX;
	s->first = t;
	set_up(&t->x);
	curl_easy_setopt(t->x.easy, CURLOPT_PRIVATE, t);
	curl_multi_add_handle(s->multi, t->x.easy);
	return t;
}

void ar_http_cancel(struct ar_http_transfer *t)
{
	struct ar_http_transfer **at = &t->set->first;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	clean_up(&t->x);
	ar_buf_fini(&t->reply.body);
	ar_free(t);
}

/* `done` may start the next one. */
static void end_transfer(struct ar_http_transfer *t, CURLcode code)
{
	struct ar_error err = { 0 };
	enum ar_status st = conclude(&t->x, code, &err);

	t->done(t->request.arg, st, &t->reply, &err);
	ar_http_cancel(t);
}

static void end_finished(struct ar_http_set *s)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(s->multi, &left))) {
		CURLcode code = message->data.result;
		char *t = NULL;

		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
		end_transfer((struct ar_http_transfer *)(void *)t, code);
	}
}

static void end_silent(struct ar_http_set *s)
{
	struct ar_http_transfer *next;

	for (struct ar_http_transfer *t = s->first; t; t = next) {
		next = t->next;
		if (is_silent(&t->x))
			end_transfer(t, CURLE_OPERATION_TIMEDOUT);
	}
}

void ar_http_set_wait(struct ar_http_set *s, struct ar_http_watch *watches, size_t count, int ms)
{
	struct curl_waitfd fds[AR_HTTP_WATCHES];
	struct ar_clock *clock = ar_clock_system();
	int active;

	AR_ASSERT(count <= AR_HTTP_WATCHES);
	for (size_t i = 0; i < count; i++)
		fds[i] = (struct curl_waitfd){ .fd = watches[i].fd, .events = CURL_WAIT_POLLIN };
	curl_multi_poll(s->multi, fds, (unsigned)count, ms, NULL);
	for (size_t i = 0; i < count; i++)
		watches[i].is_readable = fds[i].revents;
	for (struct ar_http_transfer *t = s->first; t; t = t->next)
		t->x.now = clock->mono(clock);
	curl_multi_perform(s->multi, &active);
	end_finished(s);
	end_silent(s);
}
