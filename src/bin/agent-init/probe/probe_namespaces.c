/* Questions about namespaces: something of the host that is certainly there must be out of reach from
 * inside. */
#include "network.h"
#include "probe/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

/* What an attack needs from outside, by the only way that leads in: the copy of our memory. Part of ar_init's
 * text that a plan would fill. */
struct outside {
	struct ar_init in; /* first: attacks get a pointer to it */
	int pipe[2];
	pid_t pid;
	in_port_t port;
	key_t key;
};

static bool attack_pids(struct ar_probe *p, struct ar_init *in)
{
	struct outside *o = (struct outside *)in;

	close(o->pipe[0]);
	errno = 0;
	if (getpid() != 1)
		return ar_probe_fails(p, "the first process of a pid namespace is not process 1");
	if (!ar_probe_refused(p, kill(o->pid, 0), ESRCH, "reaching a process outside"))
		return false;
	if (fork() == 0) {
		setsid();
		for (;;)
			pause();
	}
	return true;
}

/* The process that was left inside has the pipe: its end is the proof that it is gone. */
bool ar_probe_pid_namespace(struct ar_probe *p)
{
	struct outside o = { .pid = getpid() };
	char byte;

	ar_probe_prepare(&o.in);
	if (pipe(o.pipe) < 0)
		return ar_probe_fails(p, "pipe");
	if (!ar_probe_inside(p, &o.in, CLONE_NEWPID, attack_pids))
		return false;
	close(o.pipe[1]);
	return read(o.pipe[0], &byte, 1) == 0 || ar_probe_fails(p, "a process outlived its namespace");
}

static int connect_to(in_port_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = port };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return connect(fd, (struct sockaddr *)&at, sizeof(at));
}

static int listen_on_any(in_port_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		return -1;
	*ret_port = at.sin_port;
	return fd;
}

static bool attack_network(struct ar_probe *p, struct ar_init *in)
{
	struct outside *o = (struct outside *)in;
	in_port_t own;

	if (ar_network_set(in) < 0)
		return ar_probe_fails(p, in->about);
	if (!ar_probe_refused(p, connect_to(o->port), ECONNREFUSED, "connecting to the host's loopback"))
		return false;
	if (listen_on_any(&own) < 0 || connect_to(own) < 0)
		return ar_probe_fails(p, "loopback inside");
	return true;
}

bool ar_probe_network_namespace(struct ar_probe *p)
{
	struct outside o = { 0 };

	ar_probe_prepare(&o.in);
	if (listen_on_any(&o.port) < 0 || connect_to(o.port) < 0)
		return ar_probe_fails(p, "a listener on the host's loopback, to be out of reach");
	return ar_probe_inside(p, &o.in, CLONE_NEWNET, attack_network);
}

static bool attack_memory(struct ar_probe *p, struct ar_init *in)
{
	const struct outside *o = (const struct outside *)in;

	return ar_probe_refused(p, shmget(o->key, 1, 0), ENOENT, "reaching shared memory outside");
}

bool ar_probe_ipc_namespace(struct ar_probe *p)
{
	struct outside o = { .key = (key_t)(0x41520000 ^ getpid()) };
	bool is_working;
	int id;

	ar_probe_prepare(&o.in);
	id = shmget(o.key, 1, IPC_CREAT | IPC_EXCL | 0600);
	if (id < 0)
		return ar_probe_fails(p, "shared memory, to be out of reach");
	is_working = ar_probe_inside(p, &o.in, CLONE_NEWIPC, attack_memory);
	shmctl(id, IPC_RMID, NULL);
	return is_working;
}

static bool attack_ids(struct ar_probe *p, struct ar_init *in)
{
	errno = 0;
	if (getuid() != in->plan.uid)
		return ar_probe_fails(p, "the id inside is not the one that was mapped");
	if (sethostname("inside", 6) < 0)
		return ar_probe_fails(p, "power over what is inside");
	return ar_probe_refused(p, setresuid(1, 1, 1), EINVAL, "becoming a user who is not mapped") &&
	       ar_probe_refused(p, mount("none", "/", NULL, MS_PRIVATE, NULL), EPERM,
				"power over the host's mounts");
}

bool ar_probe_user_namespace(struct ar_probe *p)
{
	struct outside o = { 0 };

	ar_probe_prepare(&o.in);
	return ar_probe_inside(p, &o.in, CLONE_NEWUSER | CLONE_NEWUTS, attack_ids);
}
