/* See stdio_peer.h. */
#include "stdio_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- pumps ---- */

static bool write_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno != EINTR)
			return false;
		bytes += n < 0 ? 0 : n;
		len -= n < 0 ? 0 : (size_t)n;
	}
	return true;
}

static void *pump(void *arg)
{
	const struct ar_stdio_pump *p = arg;
	char buf[16384];
	ssize_t n;

	while ((n = read(p->from, buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 0 && !write_all(p->to, buf, (size_t)n))
			break;
	}
	close(p->from);
	close(p->to);
	return NULL;
}

static bool start(struct ar_stdio_pump *p, int from, int to)
{
	p->from = from;
	p->to = to;
	p->is_running = pthread_create(&p->thread, NULL, pump, p) == 0;
	return p->is_running;
}

static void join(struct ar_stdio_pump *p)
{
	if (p->is_running)
		pthread_join(p->thread, NULL);
	p->is_running = false;
}

/* ---- descriptors ---- */

static bool can_poll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	bool can = epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;

	close(epoll);
	return can;
}

/* A copy that no child gets, out of the way of the three. */
static int copy_of(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

static void remember(struct ar_stdio_flags *f, int fd)
{
	f->fd = copy_of(fd);
	f->flags = fcntl(fd, F_GETFL);
}

static void restore(const struct ar_stdio_flags *f)
{
	if (f->fd < 0)
		return;
	if (f->flags >= 0)
		fcntl(f->fd, F_SETFL, f->flags);
	close(f->fd);
}

static bool take_in(struct ar_stdio_peer *s)
{
	int fd = copy_of(STDIN_FILENO), ends[2];

	if (fd < 0)
		return false;
	s->in = fd;
	if (can_poll(fd))
		return true;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	s->in = ends[0];
	return start(&s->in_pump, fd, ends[1]);
}

static bool take_out(struct ar_stdio_peer *s)
{
	int fd = copy_of(STDOUT_FILENO), ends[2];

	if (fd < 0)
		return false;
	s->out = fd;
	if (can_poll(fd))
		return true;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	s->out = ends[1];
	return start(&s->out_pump, ends[0], fd);
}

/* From here on 0 reads nothing and 1 is 2. */
static bool leave_places(void)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	bool is_left =
		nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;

	if (nothing > STDERR_FILENO)
		close(nothing);
	return is_left;
}

enum ar_status ar_stdio_peer_take(struct ar_stdio_peer *s, struct ar_error *err)
{
	*s = (struct ar_stdio_peer){ 0 };
	remember(&s->in_flags, STDIN_FILENO);
	remember(&s->out_flags, STDOUT_FILENO);
	if (take_in(s) && take_out(s) && leave_places())
		return AR_OK;
	return ar_fail(err, AR_E_IO, "standard input and output cannot be used: %s", strerror(errno));
}

void ar_stdio_peer_finish(struct ar_stdio_peer *s)
{
	join(&s->out_pump);
	join(&s->in_pump);
	restore(&s->in_flags);
	restore(&s->out_flags);
}
