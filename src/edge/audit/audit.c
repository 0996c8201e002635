/* See audit.h: the socket, agent-audit, and when all violations of a session have been
 * reported. Loop thread only. */
#include "audit.h"

#include "clock.h"
#include "mem.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER (32 << 20) /* of the socket: a flood of records must not outrun a turn of the loop */
#define PIECE 256 /* records read in one turn */
#define RECORD_MAX 9000
#define FIRST_WORD_USEC ((ar_usec)3 * 1000000)
#define SETTLE_USEC ((ar_usec)500 * 1000)
#define TICK_MS 50
#define MARK_TYPE 1121 /* a message of a trusted application */
#define MARK "agentruntime-mark="

struct ar_audit_reader { /* owner: loop thread */
	struct ar_audit_aggregate aggregate;
	uv_poll_t readable;
	uv_timer_t tick; /* runs while somebody settles */
	int fd;
	pid_t keeper; /* agent-audit; 0: none */
	int keeper_in; /* closed: it ends */
	bool owns;
	uint64_t marks; /* sent */
	uint64_t mark_base; /* distinguishes our marks from another daemon's */
	unsigned open; /* handles */
};

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock);
}

/* ---- agent-audit ---- */

static bool first_line(int fd, char *out, size_t room)
{
	ar_usec deadline = now() + FIRST_WORD_USEC;
	size_t len = 0;

	while (len + 1 < room && now() < deadline) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;

		if (poll(&p, 1, 100) <= 0)
			continue;
		n = read(fd, out + len, 1);
		if (n <= 0 || out[len] == '\n')
			break;
		len++;
	}
	out[len] = '\0';
	return len > 0;
}

static void end_keeper(struct ar_audit_reader *a)
{
	if (a->keeper_in >= 0)
		close(a->keeper_in);
	a->keeper_in = -1;
	while (a->keeper > 0 && waitpid(a->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	a->keeper = 0;
}

static int spawn_keeper(struct ar_audit_reader *a, const struct ar_audit_options *o, int in, int out)
{
	static char *const environment[] = { NULL };
	char first[16], last[16];
	char *argv[] = { (char *)(uintptr_t)o->program, first, last, NULL };
	struct ar_spawn how = { .program = o->program,
				.argv = argv,
				.envp = environment,
				.workdir = "/",
				.fds = { in, out, STDERR_FILENO },
				.fd_count = 3,
				.has_session = true };

	snprintf(first, sizeof(first), "%u", o->uid_first);
	snprintf(last, sizeof(last), "%u", o->uid_last);
	return ar_spawn(&how, &a->keeper);
}

/* Its first word decides: own, shared, or why not. */
static enum ar_status start_keeper(struct ar_audit_reader *a, const struct ar_audit_options *o,
				   struct ar_error *err)
{
	int in[2], out[2], rc;
	char said[160];

	if (pipe2(in, O_CLOEXEC) != 0)
		return ar_fail(err, AR_E_IO, "agent-audit: %s", strerror(errno));
	if (pipe2(out, O_CLOEXEC) != 0) {
		close(in[0]);
		close(in[1]);
		return ar_fail(err, AR_E_IO, "agent-audit: %s", strerror(errno));
	}
	rc = spawn_keeper(a, o, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	a->keeper_in = in[1];
	if (rc != 0 || !first_line(out[0], said, sizeof(said)))
		snprintf(said, sizeof(said), "%s", rc ? strerror(rc) : "agent-audit printed nothing");
	close(out[0]);
	a->owns = strcmp(said, "own") == 0;
	if (a->owns || strncmp(said, "shared", 6) == 0)
		return AR_OK;
	end_keeper(a);
	return ar_fail(err, AR_E_UNAVAILABLE, "the records of kernel audit cannot be read: %s", said);
}

/* ---- the socket ---- */

static int open_socket(void)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK, .nl_groups = 1u << (AUDIT_NLGRP_READLOG - 1) };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_AUDIT), size = BUFFER;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A line of our own in the kernel's queue: when it comes back, all that was before it has come. */
static void send_mark(struct ar_audit_reader *a, uint64_t number)
{
	union {
		struct nlmsghdr head;
		char room[NLMSG_HDRLEN + 80];
	} m = { .head = { .nlmsg_type = MARK_TYPE, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = 1 } };
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	int len = snprintf(m.room + NLMSG_HDRLEN, 80, MARK "%llx-%llu", (unsigned long long)a->mark_base,
			   (unsigned long long)number);

	m.head.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + len + 1);
	sendto(a->fd, &m, m.head.nlmsg_len, MSG_DONTWAIT, (struct sockaddr *)&kernel, sizeof(kernel));
}

static bool read_mark(const struct ar_audit_reader *a, struct ar_str text, uint64_t *ret)
{
	char ours[64];
	size_t len = (size_t)snprintf(ours, sizeof(ours), MARK "%llx-", (unsigned long long)a->mark_base);
	const char *at = memmem(text.p, text.len, ours, len);
	uint64_t number = 0;

	for (at = at ? at + len : NULL; at && at < text.p + text.len && *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	*ret = number;
	return number > 0;
}

/* ---- settling ---- */

static void settle_watcher(struct ar_audit_reader *a, struct ar_audit_watcher *w)
{
	ar_audit_aggregate_settle(&a->aggregate, w);
	w->on_settled(w);
}

static bool is_due(const struct ar_audit_watcher *w, ar_usec at)
{
	return w->marker > 0 && ((w->is_marked && w->denials_open == 0) || at >= w->settle_by);
}

/* The next whose time has come: its mark is back and no domain of it is still to be counted, or
 * it has waited long enough. */
static struct ar_audit_watcher *find_due(struct ar_audit_reader *a, uint64_t mark, bool *ret_is_waiting)
{
	ar_usec at = now();

	*ret_is_waiting = false;
	AR_LIST_FOR (node, &a->aggregate.watchers) {
		struct ar_audit_watcher *w = AR_CONTAINER_OF(node, struct ar_audit_watcher, node);

		w->is_marked |= w->marker > 0 && w->marker <= mark;
		if (is_due(w, at))
			return w;
		*ret_is_waiting |= w->marker > 0;
	}
	return NULL;
}

/* From the start each time: the callback may change the list. */
static void settle_due(struct ar_audit_reader *a, uint64_t mark)
{
	struct ar_audit_watcher *w;
	bool is_waiting;

	while ((w = find_due(a, mark, &is_waiting)))
		settle_watcher(a, w);
	if (!is_waiting)
		uv_timer_stop(&a->tick);
}

static void on_tick(uv_timer_t *t)
{
	settle_due(t->data, 0);
}

/* ---- records ---- */

static void read_message(struct ar_audit_reader *a, const char *bytes, size_t size)
{
	const struct nlmsghdr *head = (const void *)bytes;
	struct ar_str text;
	uint64_t mark;

	if (size < NLMSG_HDRLEN)
		return;
	text = (struct ar_str){ bytes + NLMSG_HDRLEN, size - NLMSG_HDRLEN };
	while (text.len > 0 && (text.p[text.len - 1] == '\0' || text.p[text.len - 1] == '\n'))
		text.len--;
	if (head->nlmsg_type != MARK_TYPE) {
		ar_audit_aggregate_add(&a->aggregate, head->nlmsg_type, text);
		return;
	}
	if (read_mark(a, text, &mark))
		settle_due(a, mark);
}

static void on_readable(uv_poll_t *p, int status, int events)
{
	struct ar_audit_reader *a = p->data;
	_Alignas(struct nlmsghdr) char bytes[RECORD_MAX];

	(void)status;
	(void)events;
	for (int i = 0; i < PIECE; i++) {
		ssize_t n = recv(a->fd, bytes, sizeof(bytes), 0);

		/* ENOBUFS: some were lost. What Landlock counted says how many; of mounts nobody knows. */
		if (n < 0 && errno != ENOBUFS && errno != EINTR)
			return;
		if (n > 0)
			read_message(a, bytes, (size_t)n);
	}
}

/* ---- life ---- */

static void on_closed(uv_handle_t *h)
{
	struct ar_audit_reader *a = h->data;

	if (--a->open > 0)
		return;
	close(a->fd);
	ar_free(a);
}

enum ar_status ar_audit_open(uv_loop_t *loop, const struct ar_audit_options *o, struct ar_audit_reader **ret,
			     struct ar_error *err)
{
	struct ar_audit_reader *a = ar_new0(sizeof(*a));
	enum ar_status rc;

	a->keeper_in = -1;
	a->fd = open_socket();
	if (a->fd < 0) {
		rc = ar_fail(err, AR_E_UNAVAILABLE, "the records of kernel audit cannot be read: %s",
			     strerror(errno));
		ar_free(a);
		return rc;
	}
	rc = start_keeper(a, o, err);
	if (rc != AR_OK) {
		close(a->fd);
		ar_free(a);
		return rc;
	}
	ar_audit_aggregate_init(&a->aggregate);
	a->mark_base = (uint64_t)getpid() << 32 ^ (uint64_t)now();
	uv_poll_init(loop, &a->readable, a->fd);
	uv_timer_init(loop, &a->tick);
	a->readable.data = a->tick.data = a;
	a->open = 2;
	uv_poll_start(&a->readable, UV_READABLE, on_readable);
	uv_unref((uv_handle_t *)&a->readable);
	*ret = a;
	return AR_OK;
}

bool ar_audit_sees_mounts(const struct ar_audit_reader *a)
{
	return a->owns;
}

void ar_audit_watch(struct ar_audit_reader *a, struct ar_audit_watcher *w)
{
	ar_audit_aggregate_watch(&a->aggregate, w);
}

void ar_audit_settle(struct ar_audit_reader *a, struct ar_audit_watcher *w)
{
	w->marker = ++a->marks;
	w->settle_by = now() + SETTLE_USEC;
	send_mark(a, w->marker);
	uv_timer_start(&a->tick, on_tick, TICK_MS, TICK_MS);
}

void ar_audit_unwatch(struct ar_audit_reader *a, struct ar_audit_watcher *w)
{
	ar_audit_aggregate_unwatch(&a->aggregate, w);
}

void ar_audit_close(struct ar_audit_reader *a)
{
	if (!a)
		return;
	ar_audit_aggregate_fini(&a->aggregate);
	end_keeper(a);
	uv_close((uv_handle_t *)&a->readable, on_closed);
	uv_close((uv_handle_t *)&a->tick, on_closed);
}
