/* Starts agent-init as agent-shim does, and takes what it says. */
#include "launched.h"

#include "cmocka_unit.h"
#include "mem.h"
#include "packet.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 60000

const char *init_path(void)
{
	static char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 32);
	char *name;

	assert_true(len > 0);
	path[len] = '\0';
	name = strrchr(path, '/');
	snprintf(name, 32, "/agent-init");
	return path;
}

/* By descriptor: the folder of the build may be closed to the user that we become. 9 leads to the root,
 * as a careless starter would leave it. */
static void become_init(int program, int socket, int plan, uid_t user)
{
	char *const argv[] = { (char *)"agent-init", NULL };
	char *const env[] = { (char *)"SECRET=of-the-starter", NULL };

	if (user != 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(user, user, user) < 0 || setresuid(user, user, user) < 0))
		_exit(99);
	program = fcntl(program, F_DUPFD_CLOEXEC, 100);
	socket = fcntl(socket, F_DUPFD_CLOEXEC, 100);
	plan = fcntl(plan, F_DUPFD_CLOEXEC, 100);
	dup2(socket, AR_INIT_FD);
	dup2(plan, AR_INIT_PLAN_FD);
	dup2(open("/", O_RDONLY | O_DIRECTORY), 9);
	fexecve(program, argv, env);
	_exit(98);
}

void launch_text(struct launched *l, const char *text, size_t len, uid_t user)
{
	int pair[2], program = open(init_path(), O_PATH | O_CLOEXEC),
		     plan = memfd_create("plan", MFD_CLOEXEC);

	memset(l, 0, sizeof(*l));
	for (size_t i = 0; i < AR_INIT_FD_COUNT; i++)
		l->fds[i] = -1;
	assert_true(program >= 0 && plan >= 0);
	assert_int_equal(write(plan, text, len), len);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	l->socket = pair[0];
	l->pid = fork();
	assert_true(l->pid >= 0);
	if (l->pid == 0)
		become_init(program, pair[1], plan, user);
	close(pair[1]);
	close(plan);
	close(program);
}

static char *text_of(const struct ar_plan *plan, size_t *ret_len)
{
	char *text;

	*ret_len = ar_plan_write(plan, NULL, 0);
	assert_true(*ret_len > 0);
	text = ar_new0(*ret_len + 1);
	ar_plan_write(plan, text, *ret_len);
	return text;
}

void launch(struct launched *l, const struct ar_plan *plan, uid_t user)
{
	size_t len;
	char *text = text_of(plan, &len);

	launch_text(l, text, len, user);
	ar_free(text);
}

void send_plan(struct launched *l, const struct ar_plan *plan, const int *fds, size_t count)
{
	char kind = AR_INIT_PLAN;
	int all[AR_INIT_PLAN_FDS_MAX];
	struct ar_packet p = { .parts = { { &kind, 1 } }, .fds = all, .fd_count = count + 1 };
	int file = memfd_create("plan", MFD_CLOEXEC);
	size_t len;
	char *text = text_of(plan, &len);

	assert_true(file >= 0);
	assert_int_equal(write(file, text, len), len);
	all[0] = file;
	if (count > 0)
		memcpy(all + 1, fds, sizeof(int) * count);
	assert_int_equal(ar_packet_send(l->socket, &p, 0), 1);
	ar_free(text);
	close(file);
}

/* The names in "fds" say which descriptor is which. */
static void take_fds(struct launched *l, struct msghdr *msg)
{
	static const char *const names[AR_INIT_FD_COUNT] = { "\"stdin\"", "\"stdout\"", "\"stderr\"",
							     "\"tty\"",	  "\"notify\"", "\"proxy\"",
							     "\"pid\"" };
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	const char *list = strstr(l->ready, "\"fds\":[");
	int got[AR_INIT_FD_COUNT];
	size_t at = 0;

	assert_non_null(c);
	assert_non_null(list);
	memcpy(got, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	for (size_t i = 0; i < AR_INIT_FD_COUNT; i++) {
		if (strstr(list, names[i]))
			l->fds[i] = got[at++];
	}
	assert_int_equal(c->cmsg_len, CMSG_LEN(sizeof(int) * at));
}

static void keep(char *out, size_t room, const char *text, size_t len)
{
	assert_true(len < room);
	memcpy(out, text, len);
	out[len] = '\0';
}

static int take_message(struct launched *l)
{
	char bytes[AR_INIT_MESSAGE_MAX + 1], control[256];
	struct iovec part = { bytes, sizeof(bytes) };
	struct msghdr msg = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	ssize_t len = recvmsg(l->socket, &msg, MSG_CMSG_CLOEXEC);

	if (len <= 0) {
		l->is_over = true;
		return 0;
	}
	len--;
	switch (bytes[0]) {
	case AR_INIT_READY:
		keep(l->ready, sizeof(l->ready), bytes + 1, (size_t)len);
		take_fds(l, &msg);
		break;
	case AR_INIT_FAILED:
		keep(l->failed, sizeof(l->failed), bytes + 1, (size_t)len);
		break;
	case AR_INIT_RUNS:
		keep(l->runs, sizeof(l->runs), bytes + 1, (size_t)len);
		break;
	case AR_INIT_EXIT:
		assert_string_equal(l->exit, ""); /* once */
		keep(l->exit, sizeof(l->exit), bytes + 1, (size_t)len);
		break;
	case AR_INIT_EMPTY:
		l->is_empty = true;
		break;
	default:
		fail_msg("agent-init said %c", bytes[0]);
	}
	return bytes[0];
}

static void take_output(struct launched *l, int which, int *fd)
{
	ssize_t len = read(*fd, l->out[which] + l->len[which], STREAM_MAX - 1 - l->len[which]);

	if (len <= 0) { /* of a terminal EIO */
		close(*fd);
		*fd = -1;
		return;
	}
	l->len[which] += (size_t)len;
}

void hear(struct launched *l, enum ar_init_message kind)
{
	for (;;) {
		struct pollfd p[4] = { { .fd = l->is_over ? -1 : l->socket, .events = POLLIN } };
		bool has_stream = false;

		for (int i = 0; i < 3; i++) {
			p[i + 1] = (struct pollfd){ .fd = l->fds[AR_INIT_FD_STDOUT + i], .events = POLLIN };
			has_stream |= p[i + 1].fd >= 0;
		}
		if (l->is_over && (kind != 0 || !has_stream))
			return;
		if (poll(p, 4, PATIENCE_MS) <= 0)
			fail_msg("agent-init is silent; READY %s FAILED %s EXIT %s", l->ready, l->failed,
				 l->exit);
		for (int i = 0; i < 3; i++) {
			if (p[i + 1].revents)
				take_output(l, i, &l->fds[AR_INIT_FD_STDOUT + i]);
		}
		if (p[0].revents && take_message(l) == (int)kind && kind != 0)
			return;
	}
}

void say(struct launched *l, const char *message)
{
	assert_int_equal(send(l->socket, message, strlen(message), MSG_NOSIGNAL), strlen(message));
}

void run(struct launched *l, const struct ar_plan *plan, uid_t user)
{
	launch(l, plan, user);
	hear(l, AR_INIT_READY);
	if (l->ready[0] == '\0')
		fail_msg("not ready: %s", l->failed);
	say(l, "G");
	hear(l, (enum ar_init_message)0);
}

int end(struct launched *l)
{
	int status = 0;

	close(l->socket);
	for (size_t i = 0; i < AR_INIT_FD_COUNT; i++) {
		if (l->fds[i] >= 0)
			close(l->fds[i]);
	}
	while (waitpid(l->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}
