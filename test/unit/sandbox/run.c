/* See run.h. */
#include "run.h"

#include "clock.h"
#include "init_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SOCK, OUT, ERR, NOTIFY, FD_COUNT };

static int plan_file(struct desk *d)
{
	size_t size = ar_plan_write(d->launch.plan, NULL, 0);
	char *text = ar_arena_alloc(&d->arena, size);
	int fd = memfd_create("plan", MFD_CLOEXEC);

	assert_true(size > 0 && fd >= 0);
	assert_int_equal(ar_plan_write(d->launch.plan, text, size), size);
	assert_int_equal(write(fd, text, size), (ssize_t)size);
	return fd;
}

static pid_t start(struct desk *d, int *ret_sock)
{
	const char *program = ar_sandbox_helper(d->sandbox, "agent-init", &d->arena).p;
	int plan = plan_file(d), pair[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int high = fcntl(plan, F_DUPFD, 10);

		dup2(fcntl(pair[1], F_DUPFD, 20), AR_INIT_FD);
		dup2(high, AR_INIT_PLAN_FD);
		close_range(AR_INIT_PLAN_FD + 1, ~0u, 0);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	close(plan);
	close(pair[1]);
	*ret_sock = pair[0];
	return pid;
}

/* By the names in READY, which come in the order of enum ar_init_fd. */
static void keep_fds(const char *ready, const int *got, size_t count, int fds[FD_COUNT])
{
	static const struct {
		const char *name;
		int as;
	} rows[] = { { "\"stdin\"", -1 }, { "\"stdout\"", OUT },    { "\"stderr\"", ERR },
		     { "\"tty\"", OUT },  { "\"notify\"", NOTIFY }, { "\"proxy\"", -1 },
		     { "\"pid\"", -1 } };
	const char *names = strstr(ready, "\"fds\"");
	size_t at = 0;

	assert_non_null(names);
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		if (!strstr(names, rows[i].name))
			continue;
		assert_true(at < count);
		if (rows[i].as >= 0)
			fds[rows[i].as] = got[at];
		else
			close(got[at]);
		at++;
	}
}

/* One message; its kind, 0 at the end. */
static char take_message(struct run *r, int fds[FD_COUNT])
{
	union {
		char room[CMSG_SPACE(sizeof(int) * AR_INIT_FD_COUNT)];
		struct cmsghdr align;
	} control = { 0 };
	char text[AR_INIT_MESSAGE_MAX + 1];
	struct iovec part = { text, AR_INIT_MESSAGE_MAX };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.room,
			    .msg_controllen = sizeof(control.room) };
	ssize_t n = recvmsg(fds[SOCK], &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;
	const char *code;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	if (text[0] == AR_INIT_READY || text[0] == AR_INIT_FAILED)
		ar_buf_add(&r->ready, text + 1, (size_t)n);
	c = CMSG_FIRSTHDR(&m);
	if (text[0] == AR_INIT_READY && c)
		keep_fds(text, (const int *)(const void *)CMSG_DATA(c),
			 (c->cmsg_len - CMSG_LEN(0)) / sizeof(int), fds);
	code = text[0] == AR_INIT_EXIT ? strstr(text, "\"code\":") : NULL;
	if (code)
		r->code = atoi(code + sizeof("\"code\":") - 1);
	return text[0];
}

static void answer(struct run *r, int notify)
{
	struct seccomp_notif asked = { 0 };
	struct seccomp_notif_resp no = { 0 };

	if (ioctl(notify, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0)
		return;
	no = (struct seccomp_notif_resp){ .id = asked.id, .error = -EPERM };
	ioctl(notify, SECCOMP_IOCTL_NOTIF_SEND, &no);
	if (asked.data.nr >= 0 && (size_t)asked.data.nr < AR_ARRAY_LEN(r->told))
		r->told[asked.data.nr] = true;
}

static void take_output(struct run *r, int *fd)
{
	char *room = ar_buf_room(&r->said, 65536);
	ssize_t n = read(*fd, room, 65536);

	if (n <= 0) {
		close(*fd);
		*fd = -1;
		return;
	}
	r->said.len += (size_t)n;
}

static void attend(struct run *r, int fds[FD_COUNT])
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec deadline = clock->mono(clock) + 20 * 1000000;
	bool has_ended = false;

	while ((!has_ended || fds[OUT] >= 0 || fds[ERR] >= 0) && clock->mono(clock) < deadline) {
		struct pollfd p[FD_COUNT];

		for (int i = 0; i < FD_COUNT; i++)
			p[i] = (struct pollfd){ .fd = has_ended && i == SOCK ? -1 : fds[i],
						.events = POLLIN };
		if (poll(p, FD_COUNT, 100) <= 0)
			continue;
		if (p[SOCK].revents) {
			char kind = take_message(r, fds);

			has_ended |= kind == 0 || kind == AR_INIT_EXIT || kind == AR_INIT_FAILED;
			if (kind == AR_INIT_READY)
				assert_int_equal(send(fds[SOCK], &(char){ AR_INIT_GO }, 1, MSG_NOSIGNAL), 1);
			continue;
		}
		if (p[NOTIFY].revents & POLLIN)
			answer(r, fds[NOTIFY]);
		if (p[OUT].revents)
			take_output(r, &fds[OUT]);
		if (p[ERR].revents)
			take_output(r, &fds[ERR]);
	}
}

void run_script(struct desk *d, enum ar_sandbox_profile profile, const char *script, struct run *ret)
{
	const struct ar_str argv[] = { AR_STR("sh"), AR_STR("-c"), ar_str_from(script) };
	int fds[FD_COUNT] = { -1, -1, -1, -1 };
	pid_t pid;

	*ret = (struct run){ .code = -1 };
	d->spec.argv = argv;
	d->spec.argc = AR_ARRAY_LEN(argv);
	if (desk_plan(d, profile) != AR_OK)
		fail_msg("%s", d->err.msg);
	pid = start(d, &fds[SOCK]);
	attend(ret, fds);
	for (int i = 0; i < FD_COUNT; i++) {
		if (fds[i] >= 0)
			close(fds[i]); /* of SOCK: everything inside ends */
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	ar_buf_addc(&ret->said, '\0');
	ar_buf_addc(&ret->ready, '\0');
	d->spec.argv = NULL;
}

void run_fini(struct run *r)
{
	ar_buf_fini(&r->said);
	ar_buf_fini(&r->ready);
}
