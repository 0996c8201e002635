/* The shims that are our children: each is reaped when it ends, also when nobody follows its process
 * any more. Loop thread only. */
#include "proc.h"

#include "mem.h"
#include "program.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_closed(uv_handle_t *handle)
{
	struct ar_shim_child *c = handle->data;
	struct ar_processes *all = c->all;

	ar_free(c);
	ar_processes_closed(all);
}

static void let_go(struct ar_shim_child *c)
{
	ar_list_del(&c->node);
	uv_close((uv_handle_t *)&c->exit, on_closed);
	close(c->fd);
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void on_exit_seen(uv_poll_t *poll, int status AR_UNUSED, int events AR_UNUSED)
{
	struct ar_shim_child *c = poll->data;
	struct ar_proc *p = c->of;

	reap(c->pid);
	if (c->prewarmed)
		ar_prewarmed_lost(c->prewarmed);
	let_go(c);
	if (!p)
		return;
	p->child = NULL;
	ar_proc_alone(p);
}

static struct ar_shim_child *adopt(struct ar_processes *all, pid_t pid)
{
	int fd = pidfd_open(pid, 0); /* not waited for yet, so the id is still its own */
	struct ar_shim_child *c;

	if (fd < 0)
		return NULL;
	c = ar_new0(sizeof(*c));
	*c = (struct ar_shim_child){ .all = all, .pid = pid, .fd = fd };
	AR_ASSERT(uv_poll_init(all->loop, &c->exit, fd) == 0);
	c->exit.data = c;
	AR_ASSERT(uv_poll_start(&c->exit, UV_READABLE, on_exit_seen) == 0);
	ar_list_push(&all->children, &c->node);
	all->open++;
	return c;
}

struct ar_shim_child *ar_shim_child_start(struct ar_processes *all, char *const *argv, const int *fds,
					  size_t count, struct ar_error *err)
{
	char *envp[] = { NULL };
	struct ar_spawn how = { .program = all->shim,
				.argv = argv,
				.envp = envp,
				.workdir = argv[1],
				.fd_count = count,
				.has_session = true };
	struct ar_shim_child *c;
	pid_t pid;
	int rc;

	memcpy(how.fds, fds, count * sizeof(*fds));
	rc = ar_spawn(&how, &pid);
	if (rc != 0) {
		ar_fail(err, AR_E_IO,
			"its supervisor '%s' cannot be started: %s; install agent-shim and agent-init next "
			"to agentd, or in the directory of sandbox.helpers",
			all->shim, strerror(rc));
		return NULL;
	}
	c = adopt(all, pid);
	if (c)
		return c;
	ar_fail(err, AR_E_IO, "its supervisor cannot be watched: %s", strerror(errno));
	kill(pid, SIGKILL);
	reap(pid);
	return NULL;
}

/* They go on; the process that adopts them reaps them. */
void ar_shim_children_close(struct ar_processes *all)
{
	while (!ar_list_empty(&all->children))
		let_go(AR_CONTAINER_OF(all->children.next, struct ar_shim_child, node));
}
