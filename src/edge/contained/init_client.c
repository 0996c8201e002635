/* See init_client.h. */
#include "init_client.h"

#include "io/descriptor.h"
#include "packet.h"
#include "mem.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors that agent-init gets: its input, two streams that lead nowhere, the socket, the plan. */
struct given {
	int input, null, socket, plan;
};

static bool is_shown(const struct ar_plan *p, struct ar_str program)
{
	for (size_t i = 0; i < p->read_roots.count; i++) {
		struct ar_str root = ar_str_from(p->read_roots.at[i]);

		if (ar_str_starts(program, root) && (program.len == root.len || program.p[root.len] == '/'))
			return true;
	}
	return false;
}

void ar_init_client_add_program(struct ar_plan *p, struct ar_str program)
{
	if (!is_shown(p, program) && p->read_roots.count < AR_PLAN_PATHS_MAX)
		p->read_roots.at[p->read_roots.count++] = program.p;
}

/* ---- the beginning ---- */

static int plan_file(const struct ar_plan *plan)
{
	size_t len = ar_plan_write(plan, NULL, 0);
	AR_AUTO(ar_freep) char *text = len > 0 ? ar_grow(NULL, len + 1, 1) : NULL;

	if (!text || ar_plan_write(plan, text, len + 1) != len) {
		errno = EINVAL;
		return -1;
	}
	return ar_spawn_input((struct ar_str){ text, len });
}

static bool open_given(struct ar_init_client *e, const struct ar_plan *plan, struct ar_str input,
		       struct given *ret)
{
	int pair[2] = { -1, -1 };

	*ret = (struct given){ -1, -1, -1, -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	e->socket = pair[0];
	ret->socket = pair[1];
	if (fcntl(e->socket, F_SETFL, O_NONBLOCK) != 0)
		return false;
	ret->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	ret->input = ar_spawn_input(input);
	ret->plan = plan_file(plan);
	return ret->null >= 0 && ret->input >= 0 && ret->plan >= 0;
}

static int spawn_init(struct ar_init_client *e, const char *init, const struct given *g)
{
	char *argv[] = { "agent-init", NULL }, *envp[] = { NULL };
	struct ar_spawn how = { .program = init,
				.argv = argv,
				.envp = envp,
				.workdir = "/",
				.fds = { g->input, g->null, g->null, g->socket, g->plan },
				.fd_count = 5 };
	int code = ar_spawn(&how, &e->pid);

	if (code != 0)
		return code;
	e->pidfd = pidfd_open(e->pid, 0); /* not waited for yet, so the id is still its own */
	return e->pidfd >= 0 ? 0 : errno;
}

enum ar_status ar_init_client_open(struct ar_init_client *e, const char *init, const struct ar_plan *plan,
				   struct ar_str input, struct ar_error *err)
{
	struct given g;
	int code = open_given(e, plan, input, &g) ? spawn_init(e, init, &g) : errno;

	ar_fd_close(&g.input);
	ar_fd_close(&g.null);
	ar_fd_close(&g.socket);
	ar_fd_close(&g.plan);
	if (code == 0)
		return AR_OK;
	ar_fd_close(&e->socket);
	if (e->pid > 0)
		ar_init_client_wait(e);
	return ar_fail(err, code == ENOENT ? AR_E_UNAVAILABLE : AR_E_IO, "'%s' could not be started: %s",
		       init, strerror(code));
}

/* ---- messages ---- */

static ssize_t receive_message(struct ar_init_client *e, struct ar_init_client_message *m)
{
	struct ar_packet p = { .parts = { { e->text, sizeof(e->text) } },
			       .fds = m->fds,
			       .fd_count = AR_INIT_FD_COUNT };
	ssize_t n = ar_packet_receive(e->socket, &p, MSG_DONTWAIT);

	m->fd_count = p.fd_count;
	return n;
}

bool ar_init_client_read(struct ar_init_client *e, struct ar_json_parser *p,
			 struct ar_init_client_message *ret)
{
	*ret = (struct ar_init_client_message){ 0 };
	if (e->socket < 0 || e->is_hung_up)
		return false;
	ssize_t n = receive_message(e, ret);

	if (n <= 0) {
		e->is_hung_up = n == 0 || errno != EAGAIN;
		return false;
	}
	ret->kind = (enum ar_init_message)e->text[0];
	if (n > 1 &&
	    ar_json_parse(p, (struct ar_str){ e->text + 1, (size_t)n - 1 }, &ret->json, NULL) != AR_OK)
		ret->json = (struct ar_json){ 0 };
	return true;
}

void ar_init_client_message_fini(struct ar_init_client_message *m)
{
	for (size_t i = 0; i < m->fd_count; i++)
		ar_fd_close(&m->fds[i]);
}

int ar_init_client_take_fd(struct ar_init_client_message *m, const char *name)
{
	struct ar_json names = ar_json_get(m->json, "fds");

	for (size_t i = 0; i < m->fd_count && i < ar_json_len(names); i++) {
		struct ar_str found = AR_STR_NONE;
		int fd = m->fds[i];

		if (!ar_json_str(ar_json_at(names, i), &found) || !ar_str_is(found, name))
			continue;
		m->fds[i] = -1;
		return fd;
	}
	return -1;
}

void ar_init_client_go(struct ar_init_client *e)
{
	char go = AR_INIT_GO;

	(void)!send(e->socket, &go, 1, MSG_NOSIGNAL);
}

void ar_init_client_close(struct ar_init_client *e)
{
	ar_fd_close(&e->socket);
}

void ar_init_client_wait(struct ar_init_client *e)
{
	while (e->pid > 0 && waitpid(e->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	e->pid = 0;
	ar_fd_close(&e->pidfd);
}
