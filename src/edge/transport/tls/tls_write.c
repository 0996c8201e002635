/* The way out: the owner's bytes are gathered into records, encrypted, and given to the socket. What is
 * encrypted has to be kept when the socket is full, so no more is encrypted until that is out: at most
 * a few records wait. Owner: the loop thread. */
#include "mem.h"
#include "tls/tls_priv.h"

#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>

#define BATCH_BYTES (4 * AR_TLS_RECORD) /* encrypted before the socket is asked */
#define MAX_BEHIND ((size_t)64 * 1024) /* a peer that makes us answer without reading is not served */

static void on_sent(uv_write_t *req, int status);

static bool start_write(struct ar_tls *t)
{
	uv_buf_t buf = { t->out.p, t->out.len };

	t->write = ar_new0(sizeof *t->write);
	t->write->data = t;
	return uv_write(t->write, &t->link->u.stream, &buf, 1, on_sent) == 0;
}

bool ar_tls_send(struct ar_tls *t)
{
	struct ar_buf *out = t->bio.out;
	uv_buf_t buf = { out->p, out->len };
	int n = 0;

	if (!out->len)
		return true;
	if (t->write) {
		ar_buf_adds(&t->next, ar_buf_str(out));
		ar_buf_clear(out);
		return t->next.len <= MAX_BEHIND;
	}
	n = uv_try_write(&t->link->u.stream, &buf, 1);
	if (n > 0)
		ar_buf_eat(out, (size_t)n);
	if (n < 0 && n != UV_EAGAIN) {
		ar_buf_clear(out);
		return false;
	}
	if (!out->len)
		return true;
	ar_buf_adds(&t->out, ar_buf_str(out));
	ar_buf_clear(out);
	return start_write(t);
}

static void finish_write(struct ar_tls *t, int status)
{
	struct ar_tls_queue *q = t->queue;
	ar_byte_link_written_fn *done = q->done;

	t->queue = NULL;
	ar_free(q);
	done(t->link, status);
}

static void end_writes(struct ar_tls *t)
{
	uv_os_fd_t fd;

	if (uv_fileno(&t->link->u.handle, &fd) || shutdown(fd, SHUT_WR))
		t->link->v->lost(t->link);
}

static void on_sent(uv_write_t *req, int status)
{
	struct ar_tls *t = req->data;

	ar_free(req);
	t->write = NULL;
	ar_buf_fini(&t->out);
	if (status || t->link->is_closing) {
		if (t->queue)
			finish_write(t, status ? status : UV_ECANCELED);
		else if (!t->link->is_closing)
			t->link->v->lost(t->link);
		return;
	}
	if (t->next.len) {
		t->out = t->next;
		t->next = (struct ar_buf){ 0 };
		if (!start_write(t))
			t->link->v->lost(t->link);
	} else if (t->queue) {
		ar_tls_write_more(t);
	} else if (t->is_ending) {
		end_writes(t);
	}
}

/* ---- what the owner writes ---- */

/* Fills one record from bufs[*at...]; advances them. */
static struct ar_str gather(char *room, uv_buf_t *bufs, unsigned count, unsigned *at)
{
	struct ar_str record = { room, 0 };

	while (*at < count && record.len < AR_TLS_RECORD) {
		size_t left = AR_TLS_RECORD - record.len, n = bufs[*at].len < left ? bufs[*at].len : left;

		memcpy(room + record.len, bufs[*at].base, n);
		record.len += n;
		bufs[*at].base += n;
		bufs[*at].len -= n;
		*at += !bufs[*at].len;
	}
	return record;
}

/* Encrypts and sends from bufs[*at...] until the socket is full; false: the connection is broken. */
static bool push(struct ar_tls *t, uv_buf_t *bufs, unsigned count, unsigned *at, size_t *ret_taken)
{
	struct ar_tls_shared *shared = &t->link->server->tls;

	while (*at < count && !t->write) {
		struct ar_str record = gather(shared->plain_out, bufs, count, at);

		ERR_clear_error();
		if (record.len && SSL_write(t->ssl, record.p, (int)record.len) != (int)record.len)
			return false;
		*ret_taken += record.len;
		if ((t->bio.out->len >= BATCH_BYTES || *at == count) && !ar_tls_send(t))
			return false;
	}
	return true;
}

int ar_tls_try_write(struct ar_byte_link *l, const uv_buf_t *bufs, unsigned count)
{
	struct ar_tls *t = l->tls;
	uv_buf_t left[64];
	unsigned at = 0;
	size_t taken = 0;

	AR_ASSERT(!t->queue);
	if (t->write)
		return UV_EAGAIN;
	if (count > AR_ARRAY_LEN(left))
		count = AR_ARRAY_LEN(left);
	memcpy(left, bufs, count * sizeof *left);
	if (!push(t, left, count, &at, &taken))
		return UV_EPIPE;
	return taken || at == count ? (int)taken : UV_EAGAIN;
}

void ar_tls_write_more(struct ar_tls *t)
{
	struct ar_tls_queue *q = t->queue;
	size_t taken = 0;

	if (!push(t, q->bufs, q->count, &q->at, &taken))
		finish_write(t, UV_EPIPE);
	else if (!t->write && q->at == q->count)
		finish_write(t, 0);
}

int ar_tls_write(struct ar_byte_link *l, const uv_buf_t *bufs, unsigned count, ar_byte_link_written_fn *done)
{
	struct ar_tls *t = l->tls;

	AR_ASSERT(!t->queue);
	t->queue = ar_grow(NULL, 1, sizeof *t->queue + count * sizeof *bufs);
	t->queue->done = done;
	t->queue->count = count;
	t->queue->at = 0;
	memcpy(t->queue->bufs, bufs, count * sizeof *bufs);
	if (!t->write)
		ar_tls_wake(t);
	return 0;
}

bool ar_tls_shutdown(struct ar_byte_link *l)
{
	struct ar_tls *t = l->tls;
	uv_os_fd_t fd;

	t->is_ending = true;
	ERR_clear_error();
	if (t->is_established && SSL_shutdown(t->ssl) < 0)
		ERR_clear_error();
	if (!ar_tls_send(t))
		return false;
	return t->write || (!uv_fileno(&l->u.handle, &fd) && !shutdown(fd, SHUT_WR));
}

bool ar_tls_is_flushed(const struct ar_byte_link *l)
{
	return !l->tls->write;
}

void ar_tls_closed(struct ar_byte_link *l)
{
	if (l->tls->queue)
		finish_write(l->tls, UV_ECANCELED);
}
