/* See checkpoint_sink.h. */
#include "evidence/checkpoint_sink.h"
#include "compiler.h"
#include "io/descriptor.h"
#include "status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PRIORITY "<86>agentd: " /* authpriv, informational */

static void note_failure(struct ar_checkpoint_sink *s, const char *where)
{
	snprintf(s->why, sizeof(s->why), "%.100s: %.60s", where, strerror(errno));
}

/* A line that a crash or a full disk cut must not spoil the next one. */
static bool end_cut_line(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char last = '\n';

	if (end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n')
		return ar_fd_write_all(fd, AR_STR("\n"));
	return true;
}

/* Opened anew each time: it may have been rotated away. */
static void write_lines(struct ar_checkpoint_sink *s)
{
	AR_AUTO(ar_fd_close)
	int fd = open(s->file, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0640);

	if (fd >= 0 && end_cut_line(fd) && ar_fd_write_all(fd, ar_buf_str(&s->lines)) && fsync(fd) == 0)
		ar_buf_clear(&s->lines);
	else
		note_failure(s, s->file);
}

static void send_message(struct ar_checkpoint_sink *s, int fd, const struct sockaddr_un *to,
			 const char *message)
{
	char prefix[] = PRIORITY;
	struct iovec parts[] = { { prefix, sizeof(prefix) - 1 }, { (char *)message, strlen(message) } };
	struct msghdr m = {
		.msg_name = (void *)to, .msg_namelen = sizeof(*to), .msg_iov = parts, .msg_iovlen = 2
	};

	if (sendmsg(fd, &m, MSG_NOSIGNAL) < 0)
		note_failure(s, s->socket);
}

static void send_messages(struct ar_checkpoint_sink *s)
{
	AR_AUTO(ar_fd_close) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const struct timeval longest = { .tv_sec = 1 }; /* for a reader whose queue is full */

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", s->socket);
	for (size_t at = 0; at < s->messages.len; at += strlen(s->messages.p + at) + 1)
		send_message(s, fd, &to, s->messages.p + at);
	ar_buf_clear(&s->messages);
}

static void on_work(uv_work_t *work)
{
	struct ar_checkpoint_sink *s = AR_CONTAINER_OF(work, struct ar_checkpoint_sink, work);

	s->why[0] = '\0';
	if (s->lines.len > 0)
		write_lines(s);
	if (s->messages.len > 0)
		send_messages(s);
}

static void on_worked(uv_work_t *work, int status AR_UNUSED)
{
	struct ar_checkpoint_sink *s = AR_CONTAINER_OF(work, struct ar_checkpoint_sink, work);

	s->done(s);
}

void ar_checkpoint_sink_write(struct ar_checkpoint_sink *s, uv_loop_t *loop)
{
	AR_ASSERT(uv_queue_work(loop, &s->work, on_work, on_worked) == 0);
}

void ar_checkpoint_sink_fini(struct ar_checkpoint_sink *s)
{
	ar_buf_fini(&s->lines);
	ar_buf_fini(&s->messages);
}
