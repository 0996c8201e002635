/* See watch.h. Output that was written before a refused call is shown before it: whoever reads knows during
 * which attempt it was refused. */
#include "watch.h"

#include "init_wire.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEVER_RAN 125

enum { SOCKET, OUT, ERR, NOTIFY, ENDS };

struct lines {
	char letter;
	char text[8192];
	size_t len;
};

struct watched {
	struct pollfd ends[ENDS];
	struct lines lines[2]; /* of OUT and ERR */
	char message[AR_INIT_MESSAGE_MAX + 1];
	int fds[AR_INIT_FD_COUNT];
	size_t fd_count;
	int status;
};

static void show_line(struct lines *l)
{
	printf("%c %.*s\n", l->letter, (int)l->len, l->text);
	l->len = 0;
}

static void take_bytes(struct lines *l, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\r')
			continue; /* of a terminal */
		if (bytes[i] != '\n' && l->len < sizeof(l->text)) {
			l->text[l->len++] = bytes[i];
			continue;
		}
		show_line(l);
	}
}

/* What is there now. */
static void take_output(struct watched *w, int end)
{
	char bytes[65536];
	struct pollfd *p = &w->ends[end];

	while (p->fd >= 0 && poll(p, 1, 0) > 0) {
		ssize_t n = read(p->fd, bytes, sizeof(bytes));

		if (n <= 0) {
			close(p->fd);
			p->fd = -1;
			break;
		}
		take_bytes(&w->lines[end - OUT], bytes, (size_t)n);
	}
	if (p->fd < 0 && w->lines[end - OUT].len > 0)
		show_line(&w->lines[end - OUT]); /* without an end */
}

static void refuse_call(struct watched *w)
{
	struct seccomp_notif asked = { 0 };
	struct seccomp_notif_resp answer = { .error = -EPERM };

	if (ioctl(w->ends[NOTIFY].fd, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0)
		return;
	take_output(w, OUT);
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, asked.data.nr);
	printf("N %s\n", name ? name : "unknown");
	free(name);
	answer.id = asked.id;
	ioctl(w->ends[NOTIFY].fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static void keep_fds(struct watched *w, struct msghdr *head)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(head);

	if (!c || c->cmsg_type != SCM_RIGHTS)
		return;
	w->fd_count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	if (w->fd_count > AR_INIT_FD_COUNT)
		w->fd_count = AR_INIT_FD_COUNT;
	memcpy(w->fds, CMSG_DATA(c), w->fd_count * sizeof(int));
}

/* Whether there is another message; its kind is its first byte, the rest a string. */
static bool receive(struct watched *w)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * AR_INIT_FD_COUNT)];
	} control;
	struct iovec part = { w->message, AR_INIT_MESSAGE_MAX };
	struct msghdr head = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(w->ends[SOCKET].fd, &head, MSG_CMSG_CLOEXEC);

	if (n <= 0)
		return false;
	w->message[n] = '\0';
	keep_fds(w, &head);
	return true;
}

/* Descriptors are named in the order they come in. */
static void place_fds(struct watched *w)
{
	static const struct {
		const char *name;
		int end;
	} places[] = {
		{ "\"stdout\"", OUT }, { "\"stderr\"", ERR }, { "\"tty\"", OUT }, { "\"notify\"", NOTIFY }
	};
	const char *list = strstr(w->message, "\"fds\"");

	for (size_t i = 0; list && i < sizeof(places) / sizeof(places[0]); i++) {
		const char *at = strstr(list, places[i].name);
		size_t index = 0;

		for (const char *c = list; at && c < at; c++)
			index += *c == ',';
		if (at && index < w->fd_count)
			w->ends[places[i].end].fd = w->fds[index];
	}
}

static int number_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? (int)strtol(at + strlen(name) + 1, NULL, 10) : -1;
}

static void note_end(struct watched *w)
{
	int code = number_after(w->message, "\"code\"");

	w->status = code >= 0 ? code : 128;
}

/* Whether to go on. */
static bool take_message(struct watched *w)
{
	if (!receive(w))
		return false;
	if (w->message[0] == AR_INIT_FAILED)
		printf("F %s\n", w->message + 1);
	if (w->message[0] == AR_INIT_EXIT) {
		printf("X %s\n", w->message + 1);
		note_end(w);
	}
	/* What the command left behind is killed when our end closes. */
	return w->message[0] != AR_INIT_FAILED && w->message[0] != AR_INIT_EXIT;
}

static void follow(struct watched *w)
{
	for (bool goes_on = true; goes_on;) {
		poll(w->ends, ENDS, -1);
		take_output(w, OUT);
		take_output(w, ERR);
		if (w->ends[NOTIFY].revents & POLLIN)
			refuse_call(w);
		if (w->ends[NOTIFY].revents & (POLLHUP | POLLERR))
			w->ends[NOTIFY].fd = -1;
		if (w->ends[SOCKET].revents)
			goes_on = take_message(w);
	}
}

int watch_init(int socket)
{
	static struct watched w;

	for (int i = 0; i < ENDS; i++)
		w.ends[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	w.ends[SOCKET].fd = socket;
	w.lines[0].letter = 'O';
	w.lines[1].letter = 'E';
	w.status = NEVER_RAN;
	if (!receive(&w) || w.message[0] != AR_INIT_READY) {
		printf("F %s\n", w.message[0] ? w.message + 1 : "{\"step\":\"silent\"}");
		return NEVER_RAN;
	}
	place_fds(&w);
	printf("R %s\n", w.message + 1);
	char go = AR_INIT_GO;
	if (send(socket, &go, 1, MSG_NOSIGNAL) != 1)
		return NEVER_RAN;
	follow(&w);
	take_output(&w, OUT);
	take_output(&w, ERR);
	if (w.ends[NOTIFY].fd >= 0)
		close(w.ends[NOTIFY].fd); /* whoever still asks gets an answer from the kernel */
	return w.status;
}
