/* The socket of a process that reaches the world through a proxy: handed out once, with the right name, taken
 * back at the end. The test plays the shim. */
#include "desk_group.h"
#include "journal_file.h"

#include "shim_wire.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listen_in(const struct journal_file *j)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(snprintf(name.sun_path, sizeof(name.sun_path), "%.90s/sock", j->folder) < 100);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static int greet(int listener, int passed)
{
	char bytes[1 + sizeof(struct ar_shim_hello)] = { AR_SHIM_HELLO };
	struct ar_shim_hello hello = { .protocol = AR_SHIM_PROTOCOL, .is_released = 1, .inputs = 5 };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec part = { bytes, sizeof(bytes) };
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	int fd = -1;

	for (int i = 0; i < 200 && fd < 0; i++) {
		fd = accept(listener, NULL, NULL);
		desk_turn(&d, 10);
	}
	assert_true(fd >= 0);
	memcpy(bytes + 1, &hello, sizeof(hello));
	*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &passed, sizeof(int));
	assert_int_equal(sendmsg(fd, &m, MSG_NOSIGNAL), sizeof(bytes));
	desk_turn(&d, 50);
	return fd;
}

static void is_handed_out_once(void **state)
{
	struct journal_file j;
	struct desk_process *p;
	int listener, first, second, ends[2];
	char byte = 'x';

	(void)state;
	journal_make(&j, &d);
	journal_begin(&j);
	journal_lock(&j);
	listener = listen_in(&j);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	p = desk_attach(&d, j.handle);
	first = greet(listener, ends[1]);
	assert_true(p->is_attached);
	assert_int_equal(p->inputs, 5);
	assert_int_equal(d.listeners, 1);
	assert_string_equal(d.listener_name, strrchr(j.folder, '/') + 1);
	assert_int_equal(write(d.listener, &byte, 1), 1);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	ar_processes_report_violation(d.host, AR_STR("somebody else"), AR_STR("{}"));
	ar_processes_report_violation(d.host, ar_str_from(d.listener_name),
				      AR_STR("{\"boundary\":\"network\"}"));
	/* The connection goes: the next one brings it again. */
	close(first);
	second = greet(listener, ends[1]);
	assert_int_equal(d.listeners, 1);
	journal_end(&j, "{\"code\":0,\"by\":\"itself\"}");
	close(second);
	close(listener);
	close(j.lock);
	j.lock = -1;
	desk_wait_end(p);
	desk_turn(&d, 50);
	desk_assert_story(p, "violation 0 0 {\"boundary\":\"network\"}\nend 1 seq 5 exit 1 0     3 0 0\n");
	assert_int_equal(d.listeners, 0);
	/* Ours were the last: nothing of it is open here. */
	close(ends[1]);
	close(d.listener);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	desk_free(p);
	journal_close(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(is_handed_out_once, desk_setup, desk_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
