/* The glue between libcurl's socket and timer callbacks and libuv. Loop thread only. */
#include "curl_loop.h"

#include "mem.h"
#include "status.h"

/* One socket that libcurl wants watched; lives from its first mention to the close callback of its uv
 * handle. */
struct watch {
	uv_poll_t poll;
	struct ar_curl_loop *owner;
	curl_socket_t fd;
};

static void socket_action(struct ar_curl_loop *l, curl_socket_t fd, int what)
{
	int running;

	curl_multi_socket_action(l->multi, fd, what, &running);
	l->on_progress(l);
}

static void on_timer(uv_timer_t *timer)
{
	socket_action(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static void on_soon(uv_idle_t *soon)
{
	uv_idle_stop(soon);
	socket_action(soon->data, CURL_SOCKET_TIMEOUT, 0);
}

/* libcurl may call this from inside its own functions, so even a timeout of zero goes through the loop. That
 * one is no timer: a timer which starts itself anew with zero is run again in the same round, as long as a
 * peer has more to send. */
static int on_set_timeout(CURLM *multi AR_UNUSED, long ms, void *owner)
{
	struct ar_curl_loop *l = owner;

	uv_timer_stop(&l->timer);
	uv_idle_stop(&l->soon);
	if (ms > 0)
		uv_timer_start(&l->timer, on_timer, (uint64_t)ms, 0);
	else if (ms == 0)
		uv_idle_start(&l->soon, on_soon);
	return 0;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct watch *w = poll->data;
	int what = status < 0 ? CURL_CSELECT_ERR : 0;

	if (events & UV_READABLE)
		what |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		what |= CURL_CSELECT_OUT;
	socket_action(w->owner, w->fd, what);
}

static void on_watch_closed(uv_handle_t *handle)
{
	ar_free(handle->data);
}

static struct watch *watch_new(struct ar_curl_loop *l, curl_socket_t fd)
{
	struct watch *w = ar_new0(sizeof(*w));

	w->owner = l;
	w->fd = fd;
	if (uv_poll_init_socket(l->loop, &w->poll, fd) != 0) {
		ar_free(w);
		return NULL;
	}
	w->poll.data = w;
	curl_multi_assign(l->multi, fd, w);
	return w;
}

static void watch_drop(struct ar_curl_loop *l, struct watch *w)
{
	curl_multi_assign(l->multi, w->fd, NULL);
	uv_poll_stop(&w->poll);
	uv_close((uv_handle_t *)&w->poll, on_watch_closed);
}

static int on_socket(CURL *easy AR_UNUSED, curl_socket_t fd, int what, void *owner, void *known)
{
	struct ar_curl_loop *l = owner;
	struct watch *w = known;
	int events = 0;

	if (what == CURL_POLL_REMOVE) {
		if (w)
			watch_drop(l, w);
		return 0;
	}
	if (!w)
		w = watch_new(l, fd);
	if (!w)
		return -1;
	if (what & CURL_POLL_IN)
		events |= UV_READABLE;
	if (what & CURL_POLL_OUT)
		events |= UV_WRITABLE;
	return uv_poll_start(&w->poll, events, on_ready) == 0 ? 0 : -1;
}

void ar_curl_loop_init(struct ar_curl_loop *l, uv_loop_t *loop, void (*on_progress)(struct ar_curl_loop *l))
{
	*l = (struct ar_curl_loop){ .loop = loop, .on_progress = on_progress };
	AR_ASSERT(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
	l->multi = curl_multi_init();
	AR_ASSERT(l->multi);
	uv_timer_init(loop, &l->timer);
	uv_idle_init(loop, &l->soon);
	l->timer.data = l->soon.data = l;
	curl_multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l);
	curl_multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, on_set_timeout);
	curl_multi_setopt(l->multi, CURLMOPT_TIMERDATA, l);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct ar_curl_loop *l = handle->data;

	curl_global_cleanup();
	l->on_closed(l);
}

static void on_soon_closed(uv_handle_t *handle)
{
	uv_close((uv_handle_t *)&((struct ar_curl_loop *)handle->data)->timer, on_timer_closed);
}

void ar_curl_loop_close(struct ar_curl_loop *l, void (*on_closed)(struct ar_curl_loop *l))
{
	l->on_closed = on_closed;
	curl_multi_cleanup(l->multi);
	l->multi = NULL;
	uv_close((uv_handle_t *)&l->soon, on_soon_closed);
}
