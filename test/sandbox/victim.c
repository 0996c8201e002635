/* escape-victim FOLDER NAME KEY UID: what a sandboxed process must not reach. Serves TCP and UDP on loopback,
 * unix sockets in the folder and under an abstract name, and keeps shared memory, queues and semaphores, all
 * open to everybody, as a user of its own. First line: {"pid","port"}; then one line per thing that was
 * reached. Ends, and takes everything away, when its input closes. One thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SERVED_MAX 12

struct served {
	const char *what;
	int fd;
	int type;
};

struct world {
	struct served at[SERVED_MAX];
	size_t count;
	const char *folder, *name;
	key_t key;
	int shm, msg, sem;
	uint16_t port;
};

static void serve(struct world *w, const char *what, int fd, int type)
{
	if (fd < 0 || (type == SOCK_STREAM && listen(fd, 16) != 0))
		return;
	w->at[w->count++] = (struct served){ what, fd, type };
}

static int on_loopback(struct world *w, int family, int type)
{
	struct sockaddr_in v4 = { AF_INET, htons(w->port), { htonl(INADDR_LOOPBACK) }, { 0 } };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(w->port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr *at = family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	socklen_t len = family == AF_INET ? sizeof(v4) : sizeof(v6);
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, at, len) != 0)
		return -1;
	getsockname(fd, at, &len);
	w->port = ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port);
	return fd;
}

static int on_unix(const char *path, int type)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int n = snprintf(at.sun_path, sizeof(at.sun_path), "%s", path),
	    fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(at);

	if (path[0] == '@') {
		at.sun_path[0] = '\0';
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n);
	}
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) != 0)
		return -1;
	if (path[0] != '@')
		chmod(path, 0777);
	return fd;
}

static void serve_unix(struct world *w)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/stream.sock", w->folder);
	serve(w, "unix stream", on_unix(path, SOCK_STREAM), SOCK_STREAM);
	snprintf(path, sizeof(path), "%s/datagram.sock", w->folder);
	serve(w, "unix datagram", on_unix(path, SOCK_DGRAM), SOCK_DGRAM);
	snprintf(path, sizeof(path), "@%s", w->name);
	serve(w, "abstract stream", on_unix(path, SOCK_STREAM), SOCK_STREAM);
	snprintf(path, sizeof(path), "@%s-datagram", w->name);
	serve(w, "abstract datagram", on_unix(path, SOCK_DGRAM), SOCK_DGRAM);
}

static void keep_shared(struct world *w)
{
	char name[128];

	w->shm = shmget(w->key, 4096, IPC_CREAT | 0666);
	w->msg = msgget(w->key, IPC_CREAT | 0666);
	w->sem = semget(w->key, 1, IPC_CREAT | 0666);
	snprintf(name, sizeof(name), "/%s", w->name);
	int fd = shm_open(name, O_CREAT | O_RDWR, 0666);
	if (fd >= 0)
		fchmod(fd, 0666);
	mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0666, NULL);
	if (queue != (mqd_t)-1)
		mq_close(queue);
	close(fd);
}

static void drop_shared(const struct world *w)
{
	char name[128];

	shmctl(w->shm, IPC_RMID, NULL);
	msgctl(w->msg, IPC_RMID, NULL);
	semctl(w->sem, 0, IPC_RMID);
	snprintf(name, sizeof(name), "/%s", w->name);
	shm_unlink(name);
	mq_unlink(name);
}

static void on_signal(int number)
{
	static const char said[] = "reached signal\n";

	(void)number;
	if (write(1, said, sizeof(said) - 1) < 0)
		_exit(1);
}

static void take(const struct served *s)
{
	char bytes[64];
	int fd = s->type == SOCK_STREAM ? accept4(s->fd, NULL, NULL, SOCK_CLOEXEC) : -1;

	if (s->type == SOCK_STREAM)
		close(fd);
	else if (recv(s->fd, bytes, sizeof(bytes), 0) < 0)
		return;
	printf("reached %s\n", s->what);
}

/* Until the input closes. */
static void run(struct world *w)
{
	struct pollfd wait[SERVED_MAX + 1] = { { .fd = 0, .events = POLLIN } };
	char byte;

	for (size_t i = 0; i < w->count; i++)
		wait[i + 1] = (struct pollfd){ .fd = w->at[i].fd, .events = POLLIN };
	for (;;) {
		if (poll(wait, (nfds_t)w->count + 1, -1) < 0)
			continue;
		for (size_t i = 0; i < w->count; i++) {
			if (wait[i + 1].revents)
				take(&w->at[i]);
		}
		if (wait[0].revents && read(0, &byte, 1) <= 0)
			return;
	}
}

/* What is not an event: how it is scheduled. */
static void look_at_oneself(int cpus)
{
	cpu_set_t now;

	sched_getaffinity(0, sizeof(now), &now);
	if (getpriority(PRIO_PROCESS, 0) > 10 || CPU_COUNT(&now) != cpus ||
	    sched_getscheduler(0) != SCHED_OTHER)
		printf("reached scheduling\n");
}

int main(int argc, char **argv)
{
	cpu_set_t cpus;

	if (argc != 5)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	struct world w = { .folder = argv[1], .name = argv[2], .key = (key_t)strtol(argv[3], NULL, 10) };
	uid_t uid = (uid_t)strtoul(argv[4], NULL, 10);
	umask(0);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	if (geteuid() == 0 && (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0))
		return 1;
	signal(SIGTERM, on_signal);
	signal(SIGUSR1, on_signal);
	serve(&w, "tcp", on_loopback(&w, AF_INET, SOCK_STREAM), SOCK_STREAM);
	serve(&w, "tcp6", on_loopback(&w, AF_INET6, SOCK_STREAM), SOCK_STREAM);
	serve(&w, "udp", on_loopback(&w, AF_INET, SOCK_DGRAM), SOCK_DGRAM);
	serve(&w, "udp6", on_loopback(&w, AF_INET6, SOCK_DGRAM), SOCK_DGRAM);
	serve_unix(&w);
	keep_shared(&w);
	printf("{\"pid\":%d,\"port\":%u}\n", getpid(), w.port);
	run(&w);
	look_at_oneself(CPU_COUNT(&cpus));
	drop_shared(&w);
	printf("done\n");
	return 0;
}
