/* Control connections. Every send is one packet that either goes out at once or costs the connection:
 * waiting for a client is how supervisors freeze the process they supervise. */
#include "drive.h"
#include "packet.h"
#include "shim.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCK_NAME "sock"

static void close_connection(struct ar_drive *d)
{
	if (d->connection >= 0)
		close(d->connection);
	d->connection = -1;
}

static void set_connection(struct ar_drive *d, int fd)
{
	close_connection(d);
	d->connection = fd;
	d->is_greeted = false;
	d->may_poke = true;
}

bool ar_drive_open(struct ar_drive *d)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = SOCK_NAME };

	d->connection = -1;
	set_connection(d, AR_SHIM_FD);
	d->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return d->listener >= 0 && bind(d->listener, (struct sockaddr *)&name, sizeof(name)) == 0 &&
	       listen(d->listener, 4) == 0;
}

static bool is_ours(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

static void on_connect(struct ar_shim *s, int arg)
{
	int fd = accept4(s->drive.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)arg;
	if (fd < 0)
		return;
	if (!is_ours(fd)) {
		close(fd);
		return;
	}
	set_connection(&s->drive, fd);
}

/* One packet: its kind, its body, and a descriptor when passed_fd is one. */
static void send_packet(struct ar_drive *d, char kind, const void *body, size_t len, int passed_fd)
{
	struct ar_packet p = { .parts = { { &kind, 1 }, { (void *)body, len } },
			       .fds = &passed_fd,
			       .fd_count = passed_fd >= 0 };

	if (ar_packet_send(d->connection, &p, MSG_DONTWAIT) < 0)
		close_connection(d);
}

static void on_looked(struct ar_shim *s, const char *body, size_t len)
{
	(void)body;
	(void)len;
	s->drive.may_poke = true;
}

static void on_go(struct ar_shim *s, const char *body, size_t len)
{
	(void)body;
	(void)len;
	ar_start_go(s);
}

static void on_input(struct ar_shim *s, const char *body, size_t len)
{
	struct ar_shim_input head;
	struct ar_shim_input_result result = { 0 };

	if (len < sizeof(head) || len - sizeof(head) > AR_SHIM_INPUT_MAX)
		return;
	memcpy(&head, body, sizeof(head));
	result.number = head.number;
	result.status = (uint32_t)ar_stdin_accept(s, &head, body + sizeof(head), len - sizeof(head));
	send_packet(&s->drive, AR_SHIM_INPUT_RESULT, &result, sizeof(result), -1);
}

static void on_resize(struct ar_shim *s, const char *body, size_t len)
{
	uint16_t size[2];
	struct winsize w = { 0 };

	if (len != sizeof(size))
		return;
	memcpy(size, body, sizeof(size));
	w.ws_row = size[0];
	w.ws_col = size[1];
	if (ioctl(s->streams.at[AR_STREAM_TTY].fd, TIOCSWINSZ, &w) == 0)
		ar_journal_file_addf(&s->journal, AR_RECORD_RESIZED, "{\"rows\":%u,\"columns\":%u}", size[0],
				     size[1]);
}

static void on_signal(struct ar_shim *s, const char *body, size_t len)
{
	ar_termination_signal(s, (struct ar_piece){ body, len });
}

static void on_end(struct ar_shim *s, const char *body, size_t len)
{
	ar_termination_request(s, (struct ar_piece){ body, len });
}

static const struct {
	char kind;
	void (*on)(struct ar_shim *s, const char *body, size_t len);
} messages[] = {
	{ AR_SHIM_LOOKED, on_looked }, { AR_SHIM_GO, on_go },	      { AR_SHIM_INPUT, on_input },
	{ AR_SHIM_RESIZE, on_resize }, { AR_SHIM_SIGNAL, on_signal }, { AR_SHIM_END, on_end },
};

static void on_packet(struct ar_shim *s, int arg)
{
	ssize_t n = recv(s->drive.connection, s->scratch, sizeof(s->scratch), MSG_DONTWAIT);

	(void)arg;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_connection(&s->drive);
	if (n <= 0)
		return;
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		if (messages[i].kind == s->scratch[0])
			messages[i].on(s, s->scratch + 1, (size_t)n - 1);
	}
}

void ar_drive_watch(struct ar_shim *s, struct ar_loop *l)
{
	ar_loop_watch(l, s->drive.listener, POLLIN, on_connect, 0);
	ar_loop_watch(l, s->drive.connection, POLLIN, on_packet, 0);
}

void ar_drive_notify(struct ar_shim *s)
{
	struct ar_drive *d = &s->drive;

	if (d->connection >= 0 && !d->is_greeted && (s->init.is_ready || s->termination.has_failed)) {
		struct ar_shim_hello hello = {
			.protocol = AR_SHIM_PROTOCOL,
			.is_released = s->init.is_released,
			.inputs = s->input.accepted,
		};

		d->is_greeted = true;
		s->journal.has_grown = true;
		send_packet(d, AR_SHIM_HELLO, &hello, sizeof(hello), s->init.fds[AR_INIT_FD_PROXY]);
	}
	if (d->connection < 0 || !d->is_greeted || !d->may_poke || !s->journal.has_grown)
		return;
	d->may_poke = s->journal.has_grown = false;
	send_packet(d, AR_SHIM_POKE, NULL, 0, -1);
}
