/* One event to many readers: how much processor time of the server each delivery costs, how long until the
 * last one has it, and what memory a reader takes.
 *
 *   bench-fanout PID PORT h1|tls|h2|ws READERS STUCK ROUNDS PATH PUBLISH_PATH PUBLISH_BODY
 *
 * Over ws PATH is the id of the session. Each round sends the POST once and waits until every reader that
 * reads has what it brings. Prints {"cpu_us","wall_ms","event_bytes", "reader_bytes"}: per delivery, median
 * of the rounds, of one round for one reader, and of the server's anonymous memory per reader. */
#include "fanout.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define QUIET_MS 400
#define PATIENCE_MS 300000 /* only ends what hangs: the server may run under callgrind */
#define MAX_ROUNDS 1000

void fanout_die(const char *what)
{
	perror(what);
	exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- the server ---- */

static double cpu_us(const char *pid)
{
	char path[300];
	DIR *tasks;
	double total = 0;

	snprintf(path, sizeof path, "/proc/%s/task", pid);
	tasks = opendir(path);
	for (struct dirent *e; tasks && (e = readdir(tasks));) {
		unsigned long long ns;
		FILE *f;

		snprintf(path, sizeof path, "/proc/%s/task/%s/schedstat", pid, e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (f && fscanf(f, "%llu", &ns) == 1)
			total += (double)ns / 1e3;
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
	return total;
}

static double anonymous_bytes(const char *pid)
{
	char path[64], line[256];
	double kb = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%s/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f)) {
		if (strncmp(line, "RssAnon:", 8) == 0)
			kb = strtod(line + 8, NULL);
	}
	if (f)
		fclose(f);
	return kb * 1024;
}

/* ---- readers ---- */

int fanout_connect(unsigned port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to))
		fanout_die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

void fanout_take(struct fanout *f, struct reader *r, const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		r->matched = p[i] == f->mark[r->matched] ? r->matched + 1 : p[i] == f->mark[0];
		if (f->mark[r->matched])
			continue;
		r->matched = 0;
		r->events++;
		f->delivered++;
	}
	f->bytes += len;
}

static bool send_text(const struct reader *r, const char *text, size_t len)
{
	return r->tls ? fanout_tls_send(r->tls, text, len) : send(r->fd, text, len, 0) == (ssize_t)len;
}

static ssize_t receive_text(const struct reader *r, char *text, size_t room)
{
	return r->tls ? fanout_tls_recv(r->tls, text, room) : recv(r->fd, text, room, 0);
}

static void connect_one(const struct fanout *f, struct reader *r)
{
	r->fd = fanout_connect(f->port);
	r->tls = f->is_tls ? fanout_tls_open(r->fd) : NULL;
}

static void open_stream(const struct fanout *f, struct reader *r)
{
	char text[4096];
	int len = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", f->path);

	connect_one(f, r);
	if (!send_text(r, text, (size_t)len) || receive_text(r, text, sizeof text) < 12 ||
	    strncmp(text + 9, "200", 3) != 0)
		fanout_die("no stream was opened");
}

static void open_one(struct fanout *f, struct reader *r)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = r };

	if (f->is_ws)
		fanout_ws_open(f, r);
	else
		open_stream(f, r);
	fcntl(r->fd, F_SETFL, O_NONBLOCK);
	if (!r->is_stuck && epoll_ctl(f->epoll, EPOLL_CTL_ADD, r->fd, &e))
		fanout_die("epoll_ctl");
}

/* A record that is there is not seen by epoll any more: all of them are read. */
static void read_tls(struct fanout *f, struct reader *r)
{
	char text[16384];
	int n;

	while ((n = fanout_tls_recv(r->tls, text, sizeof text)) > 0)
		fanout_take(f, r, text, (size_t)n);
	if (n < 0)
		fanout_die("a stream has ended");
}

static void read_one(struct fanout *f, struct reader *r)
{
	char text[65536];
	ssize_t n = recv(r->fd, text, sizeof text, 0);

	if (n == 0 || (n < 0 && errno != EAGAIN))
		fanout_die("a stream has ended");
	if (n <= 0)
		return;
	fanout_take(f, r, text, (size_t)n);
	if (f->is_ws)
		fanout_ws_answer(r, text, (size_t)n);
}

/* Reads until so many deliveries are there, or nothing came for a while; false then. */
static bool read_until(struct fanout *f, unsigned long long delivered, bool is_h2)
{
	struct epoll_event found[512];

	while (f->delivered < delivered) {
		int n = epoll_wait(f->epoll, found, 512, delivered == ~0ull ? QUIET_MS : PATIENCE_MS);

		if (n == 0)
			return false;
		for (int i = 0; i < n; i++) {
			if (is_h2)
				fanout_h2_read(f, found[i].data.ptr);
			else if (f->is_tls)
				read_tls(f, found[i].data.ptr);
			else
				read_one(f, found[i].data.ptr);
		}
	}
	return true;
}

/* ---- rounds ---- */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void publish(const struct reader *by, const char *request)
{
	if (!send_text(by, request, strlen(request)))
		fanout_die("publish");
}

static void read_reply(const struct reader *by)
{
	char reply[65536];
	ssize_t n = receive_text(by, reply, sizeof reply - 1);

	if (n < 12 || reply[9] != '2') {
		reply[n > 0 ? n : 0] = 0;
		fprintf(stderr, "bench-fanout: %s\n", reply);
		exit(1);
	}
}

/* How many events one publication makes for all: those that came when it is quiet and every reader has as
 * many. */
static unsigned long long read_first(struct fanout *f, size_t reading, bool is_h2)
{
	double began = now_ms();

	do {
		if (now_ms() - began > PATIENCE_MS)
			fanout_die("not everyone has every event");
		read_until(f, ~0ull, is_h2);
	} while (!f->delivered || f->delivered % reading);
	return f->delivered;
}

static void measure(struct fanout *f, const char *pid, const char *request, size_t rounds, bool is_h2,
		    double reader_bytes)
{
	size_t reading = f->count - f->stuck;
	unsigned long long each, before;
	double times[MAX_ROUNDS], cpu;
	struct reader by = { 0 };

	connect_one(f, &by);
	publish(&by, request);
	read_reply(&by);
	each = read_first(f, reading, is_h2);
	before = f->bytes;
	cpu = cpu_us(pid);
	for (size_t i = 0; i < rounds; i++) {
		double began = now_ms();

		publish(&by, request);
		if (!read_until(f, f->delivered + each, is_h2))
			fanout_die("events are missing");
		times[i] = now_ms() - began;
		read_reply(&by);
	}
	cpu = cpu_us(pid) - cpu;
	qsort(times, rounds, sizeof *times, by_size);
	printf("{\"cpu_us\":%.3f,\"wall_ms\":%.3f,\"event_bytes\":%llu,\"reader_bytes\":%.0f}\n",
	       cpu / (double)(rounds * reading), times[rounds / 2], (f->bytes - before) / rounds / reading,
	       reader_bytes);
}

int main(int argc, char **argv)
{
	struct fanout f = { .epoll = epoll_create1(0) };
	static char request[65536];
	double memory;
	size_t rounds;
	bool is_h2;

	if (argc < 10) {
		fprintf(stderr, "usage: bench-fanout PID PORT h1|tls|h2|ws READERS STUCK ROUNDS PATH "
				"PUBLISH_PATH BODY\n");
		return 2;
	}
	f.port = (unsigned)strtoul(argv[2], NULL, 10);
	is_h2 = strcmp(argv[3], "h2") == 0;
	f.is_ws = strcmp(argv[3], "ws") == 0;
	f.is_tls = strcmp(argv[3], "tls") == 0;
	f.mark = f.is_ws ? FANOUT_WS_MARK : "\ndata:";
	f.count = strtoul(argv[4], NULL, 10);
	f.stuck = strtoul(argv[5], NULL, 10);
	rounds = strtoul(argv[6], NULL, 10);
	rounds = rounds < MAX_ROUNDS ? rounds : MAX_ROUNDS;
	f.path = argv[7];
	snprintf(request, sizeof request,
		 "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
		 "%zu\r\n\r\n%s",
		 argv[8], strlen(argv[9]), argv[9]);
	f.readers = calloc(f.count, sizeof *f.readers);
	memory = anonymous_bytes(argv[1]);
	for (size_t i = 0; i < f.count; i++) {
		f.readers[i].is_stuck = i < f.stuck;
		if (!is_h2)
			open_one(&f, &f.readers[i]);
	}
	if (is_h2)
		fanout_h2_open(&f);
	memory = (anonymous_bytes(argv[1]) - memory) / (double)f.count;
	measure(&f, argv[1], request, rounds, is_h2, memory);
	return 0;
}
