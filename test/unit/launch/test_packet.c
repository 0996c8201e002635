/* Descriptors over a socket: what is sent comes, what is not wanted is closed and said. */
#include "cmocka_unit.h"
#include "packet.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];

static int open_pair(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int close_pair(void **state)
{
	(void)state;
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static void send_fds(size_t count)
{
	char kind = 'x', body[] = "body";
	int fds[AR_PACKET_FDS_MAX];
	struct ar_packet p = { .parts = { { &kind, 1 }, { body, 4 } }, .fds = fds, .fd_count = count };

	for (size_t i = 0; i < count; i++)
		fds[i] = STDERR_FILENO;
	assert_int_equal(ar_packet_send(ends[0], &p, 0), 5);
}

static int lowest_free(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

static void what_is_sent_comes(void **state)
{
	char text[16] = { 0 };
	int fds[3];
	struct ar_packet p = { .parts = { { text, sizeof(text) } }, .fds = fds, .fd_count = 3 };

	(void)state;
	send_fds(2);
	assert_int_equal(ar_packet_receive(ends[1], &p, MSG_DONTWAIT), 5);
	assert_string_equal(text, "xbody");
	assert_int_equal(p.fd_count, 2);
	assert_false(p.is_cut);
	assert_true(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fds[1], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fds[2], -1);
	close(fds[0]);
	close(fds[1]);
}

static void what_is_not_wanted_is_closed(void **state)
{
	char text[16];
	int fd, before = lowest_free();
	struct ar_packet p = { .parts = { { text, sizeof(text) } }, .fds = &fd, .fd_count = 1 };

	(void)state;
	send_fds(AR_PACKET_FDS_MAX);
	assert_int_equal(ar_packet_receive(ends[1], &p, MSG_DONTWAIT), 5);
	assert_int_equal(p.fd_count, 1);
	assert_true(p.is_cut);
	close(fd);
	assert_int_equal(lowest_free(), before);
}

static void nothing_and_too_much(void **state)
{
	char text[16];
	int fds[AR_PACKET_FDS_MAX + 1] = { 0 };
	struct ar_packet none = { .parts = { { text, sizeof(text) } } };
	struct ar_packet many = { .parts = { { text, 1 } }, .fds = fds, .fd_count = AR_PACKET_FDS_MAX + 1 };

	(void)state;
	assert_int_equal(ar_packet_receive(ends[1], &none, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(ar_packet_send(ends[0], &many, 0), -1);
	assert_int_equal(errno, EINVAL);
	send_fds(0);
	assert_int_equal(ar_packet_receive(ends[1], &none, MSG_DONTWAIT), 5);
	assert_int_equal(none.fd_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_sent_comes, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(what_is_not_wanted_is_closed, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(nothing_and_too_much, open_pair, close_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
