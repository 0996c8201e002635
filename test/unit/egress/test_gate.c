/* The daemon's side of a real agent-proxy: it serves what it is given, reports, and one that is killed is
 * replaced without a client noticing more than a pause. */
#include "cmocka_unit.h"
#include "gate.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct desk {
	uv_loop_t loop;
	struct ar_egress_gate *gate;
	int denied, closed;
	char last[512];
};

static void on_report(void *arg, struct ar_str name, struct ar_str report)
{
	struct desk *d = arg;

	assert_true(ar_str_is(name, "proc_1"));
	d->denied++;
	snprintf(d->last, sizeof(d->last), "%.*s", AR_STR_ARG(report));
}

static void on_closed(void *arg)
{
	((struct desk *)arg)->closed = 1;
}

static int listener(uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

/* Asks for a host that is not listed; returns the first bytes of the answer. */
static void ask(struct desk *d, uint16_t port, char *out, size_t room)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(port) };
	static const char head[] = "CONNECT evil.test:443 HTTP/1.1\r\n\r\n";
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), before = d->denied;
	ssize_t n = -1;

	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(write(fd, head, sizeof(head) - 1), sizeof(head) - 1);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 2000 && (n < 0 || d->denied == before); i++) {
		uv_run(&d->loop, UV_RUN_NOWAIT);
		if (n < 0)
			n = read(fd, out, room - 1);
		usleep(5000);
	}
	assert_true(n > 0);
	out[n] = 0;
	close(fd);
}

static pid_t child_of_ours(void)
{
	FILE *f = popen("pgrep -P $PPID agent-proxy", "r");
	int pid = 0;

	assert_int_equal(fscanf(f, "%d", &pid), 1);
	pclose(f);
	return pid;
}

static void test_serves_reports_and_comes_back(void **state)
{
	static const struct ar_str rules[] = { { "a.example:443", 13 } };
	struct desk d = { 0 };
	struct ar_error err;
	char answer[512];
	uint16_t port;

	(void)state;
	uv_loop_init(&d.loop);
	assert_int_equal(ar_egress_gate_open(&d.loop,
					     &(struct ar_egress_options){ .program = AGENT_PROXY,
									  .rules = rules,
									  .rule_count = 1,
									  .on_report = on_report,
									  .arg = &d },
					     &d.gate, &err),
			 AR_OK);
	assert_true(ar_egress_gate_serve(d.gate, AR_STR("proc_1"), listener(&port)));
	ask(&d, port, answer, sizeof(answer));
	assert_non_null(strstr(answer, " 403 "));
	assert_non_null(strstr(d.last, "\"verdict\":\"denied\""));
	kill(child_of_ours(), SIGKILL);
	ask(&d, port, answer, sizeof(answer));
	assert_non_null(strstr(answer, " 403 "));
	ar_egress_gate_forget(d.gate, AR_STR("proc_1"));
	ar_egress_gate_close(d.gate, on_closed, &d);
	while (!d.closed)
		uv_run(&d.loop, UV_RUN_ONCE);
	assert_int_equal(uv_loop_close(&d.loop), 0);
}

static void test_a_wrong_rule_is_named(void **state)
{
	static const struct ar_str rules[] = { { "http://a.example", 16 } };
	struct ar_egress_gate *gate;
	struct ar_error err;
	uv_loop_t loop;

	(void)state;
	uv_loop_init(&loop);
	assert_int_equal(ar_egress_gate_open(&loop,
					     &(struct ar_egress_options){ .program = AGENT_PROXY,
									  .rules = rules,
									  .rule_count = 1 },
					     &gate, &err),
			 AR_E_INVALID);
	assert_non_null(strstr(err.msg, "http://a.example"));
	uv_loop_close(&loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_serves_reports_and_comes_back),
		cmocka_unit_test(test_a_wrong_rule_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
