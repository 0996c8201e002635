/* See shim_control.h. */
#include "shim_control.h"

#include "buf.h"
#include "packet.h"
#include "json.h"
#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PACKETS_AT_ONCE 16 /* in one turn of the loop */
#define REASON_MAX 1024

enum pending {
	PENDING_GO = 1 << 0,
	PENDING_RESIZE = 1 << 1,
	PENDING_SIGNAL = 1 << 2,
	PENDING_END = 1 << 3,
	PENDING_LOOKED = 1 << 4,
};

/* Lives until its handle is closed; `of` is gone before. */
struct ar_connection {
	uv_poll_t poll;
	int fd;
	struct ar_shim_control *of;
};

/* ---- out ---- */

enum sent { SENT, LATER, NEVER };

static enum sent send_packet(struct ar_shim_control *c, char kind, struct ar_str head, struct ar_str bytes)
{
	struct iovec parts[] = { { &kind, 1 },
				 { (void *)(uintptr_t)head.p, head.len },
				 { (void *)(uintptr_t)bytes.p, bytes.len } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = AR_ARRAY_LEN(parts) };

	if (sendmsg(c->now->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return SENT;
	return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? LATER : NEVER;
}

static enum sent send_go(struct ar_shim_control *c)
{
	return send_packet(c, AR_SHIM_GO, AR_STR_NONE, AR_STR_NONE);
}

static enum sent send_resize(struct ar_shim_control *c)
{
	uint16_t size[2] = { c->rows, c->columns };

	return send_packet(c, AR_SHIM_RESIZE, (struct ar_str){ (const char *)size, sizeof(size) },
			   AR_STR_NONE);
}

static enum sent send_signals(struct ar_shim_control *c)
{
	enum sent how = SENT;

	while (c->signal_count > 0 && how == SENT) {
		how = send_packet(c, AR_SHIM_SIGNAL, ar_str_from(c->signals[0]), AR_STR_NONE);
		if (how != SENT)
			break;
		c->signal_count--;
		memmove(c->signals[0], c->signals[1], c->signal_count * sizeof(c->signals[0]));
	}
	return how;
}

static enum sent send_end(struct ar_shim_control *c)
{
	return send_packet(c, AR_SHIM_END, (struct ar_str){ c->end, c->end_len }, AR_STR_NONE);
}

static enum sent send_looked(struct ar_shim_control *c)
{
	return send_packet(c, AR_SHIM_LOOKED, AR_STR_NONE, AR_STR_NONE);
}

static const struct {
	enum pending what;
	enum sent (*send)(struct ar_shim_control *c);
} debts[] = {
	{ PENDING_GO, send_go },   { PENDING_RESIZE, send_resize }, { PENDING_SIGNAL, send_signals },
	{ PENDING_END, send_end }, { PENDING_LOOKED, send_looked },
};

static void on_event(uv_poll_t *poll, int status, int events);

/* What cannot be sent at all is left to the end of the connection, which the loop sees by itself. */
static void flush(struct ar_shim_control *c)
{
	enum sent how = SENT;

	for (size_t i = 0; c->now && how != LATER && i < AR_ARRAY_LEN(debts); i++) {
		if (!(c->pending & debts[i].what))
			continue;
		how = debts[i].send(c);
		if (how != LATER)
			c->pending &= ~(uint32_t)debts[i].what;
	}
	if (c->now)
		uv_poll_start(&c->now->poll, how == LATER ? UV_READABLE | UV_WRITABLE : UV_READABLE,
			      on_event);
}

static void send_later(struct ar_shim_control *c, enum pending what)
{
	c->pending |= what;
	flush(c);
}

/* ---- in ---- */

struct packet {
	char bytes[256];
	size_t len; /* after the kind */
	int fd; /* that came along; -1: none */
};

static void on_hello(struct ar_shim_control *c, const struct packet *p)
{
	struct ar_shim_hello hello;

	if (p->len < sizeof(hello))
		return;
	memcpy(&hello, p->bytes + 1, sizeof(hello));
	c->v->on_hello(c, &hello, p->fd < 0 ? -1 : fcntl(p->fd, F_DUPFD_CLOEXEC, 0));
}

static void on_poke(struct ar_shim_control *c, const struct packet *p AR_UNUSED)
{
	/* Before the reading: what is written after this is poked again. */
	send_later(c, PENDING_LOOKED);
	if (!(c->pending & PENDING_LOOKED))
		c->v->on_growth(c);
}

static void on_input_result(struct ar_shim_control *c, const struct packet *p)
{
	struct ar_shim_input_result result;

	if (p->len < sizeof(result))
		return;
	memcpy(&result, p->bytes + 1, sizeof(result));
	c->v->on_input_result(c, result.number, (enum ar_shim_input_status)result.status);
}

static const struct {
	char kind;
	void (*on)(struct ar_shim_control *c, const struct packet *p);
} messages[] = {
	{ AR_SHIM_HELLO, on_hello },
	{ AR_SHIM_POKE, on_poke },
	{ AR_SHIM_INPUT_RESULT, on_input_result },
};

/* As recv(). */
static ssize_t receive(int from, struct packet *ret)
{
	struct ar_packet p = { .parts = { { ret->bytes, sizeof(ret->bytes) } },
			       .fds = &ret->fd,
			       .fd_count = 1 };
	ssize_t n = ar_packet_receive(from, &p, MSG_DONTWAIT);

	ret->len = n > 0 ? (size_t)n - 1 : 0;
	return n;
}

static void dispatch_packet(struct ar_shim_control *c, const struct packet *p)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(messages); i++) {
		if (messages[i].kind == p->bytes[0]) {
			messages[i].on(c, p);
			break;
		}
	}
	if (p->fd >= 0)
		close(p->fd);
}

static void on_closed(uv_handle_t *handle)
{
	ar_free(handle->data);
}

static void hang_up(struct ar_shim_control *c)
{
	struct ar_connection *now = c->now;

	if (!now)
		return;
	c->now = NULL;
	now->of = NULL;
	uv_close((uv_handle_t *)&now->poll, on_closed);
	close(now->fd);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct ar_connection *k = poll->data;
	struct ar_shim_control *c = k->of;
	bool owed_look = (c->pending & PENDING_LOOKED) != 0;
	struct packet packet;
	ssize_t n = 1;

	if (events & UV_WRITABLE)
		flush(c);
	if (owed_look && !(c->pending & PENDING_LOOKED))
		c->v->on_growth(c);
	for (int i = 0; k->of && n > 0 && i < PACKETS_AT_ONCE; i++) {
		n = receive(k->fd, &packet);
		if (n > 0)
			dispatch_packet(c, &packet);
	}
	if (!k->of || (n < 0 && (errno == EAGAIN || errno == EINTR) && status == 0) || n > 0)
		return;
	hang_up(c);
	c->v->on_down(c);
}

/* ---- what is asked for ---- */

void ar_shim_control_open(struct ar_shim_control *c, int fd)
{
	struct ar_connection *k = ar_new0(sizeof(*k));

	hang_up(c);
	k->fd = fd;
	k->of = c;
	k->poll.data = k;
	AR_ASSERT(uv_poll_init(c->loop, &k->poll, fd) == 0);
	c->now = k;
	c->pending |= (c->wants_go ? PENDING_GO : 0u) | (c->end_len > 0 ? PENDING_END : 0u);
	flush(c);
}

void ar_shim_control_close(struct ar_shim_control *c)
{
	hang_up(c);
	c->pending = 0;
}

int ar_shim_control_peer(const struct ar_shim_control *c)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	if (!c->now || getsockopt(c->now->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return 0;
	return peer.pid;
}

void ar_shim_control_go(struct ar_shim_control *c)
{
	c->wants_go = true;
	send_later(c, PENDING_GO);
}

void ar_shim_control_resize(struct ar_shim_control *c, uint16_t rows, uint16_t columns)
{
	c->rows = rows;
	c->columns = columns;
	send_later(c, PENDING_RESIZE);
}

void ar_shim_control_signal(struct ar_shim_control *c, struct ar_str name)
{
	struct ar_buf json = { .cap = sizeof(c->signals[0]) - 1 };
	struct ar_jw w = ar_jw(&json);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "signal", name);
	ar_jw_mstr(&w, "by", AR_STR("user"));
	ar_jw_mstr(&w, "reason", AR_STR("asked for"));
	ar_jw_close(&w);
	if (!json.failed && c->signal_count < AR_SHIM_CONTROL_SIGNALS_MAX) {
		memcpy(c->signals[c->signal_count], json.p, json.len);
		c->signals[c->signal_count++][json.len] = '\0';
	}
	ar_buf_fini(&json);
	send_later(c, PENDING_SIGNAL);
}

void ar_shim_control_end(struct ar_shim_control *c, struct ar_str by, struct ar_str reason, int64_t grace_ms)
{
	struct ar_buf json = { .cap = sizeof(c->end) };
	struct ar_jw w = ar_jw(&json);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "by", by);
	ar_jw_mstr(&w, "reason", ar_str_utf8_prefix(reason, REASON_MAX));
	ar_jw_mint(&w, "graceMs", grace_ms);
	ar_jw_close(&w);
	/* Its escapes made it too long: the reason is what can be done without. */
	if (json.failed && reason.len > 0) {
		ar_buf_fini(&json);
		ar_shim_control_end(c, by, AR_STR(""), grace_ms);
		return;
	}
	memcpy(c->end, json.p, json.len);
	c->end_len = json.len;
	ar_buf_fini(&json);
	send_later(c, PENDING_END);
}

bool ar_shim_control_input(struct ar_shim_control *c, uint64_t number, struct ar_str bytes, bool is_eof)
{
	struct ar_shim_input head;

	memset(&head, 0, sizeof(head));
	head.number = number;
	head.is_eof = is_eof;
	/* Not before what was asked for earlier. */
	if (!c->now || (c->pending & ~(uint32_t)PENDING_LOOKED))
		return false;
	return send_packet(c, AR_SHIM_INPUT, (struct ar_str){ (const char *)&head, sizeof(head) }, bytes) ==
	       SENT;
}
