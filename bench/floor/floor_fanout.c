/* The floor of an event stream: whoever sends GET gets every event from then on, whoever sends POST makes
 * one; one send() per reader in a loop, nothing else. No parsing, no limits: only for benches.
 *
 *   bench-floor-fanout EVENT_BYTES */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_READERS 65536

static int readers[MAX_READERS];
static size_t reader_count;
static char *event;
static size_t event_len;

static void send_or_close(int fd, const char *text, size_t len)
{
	if (send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		close(fd);
}

static void publish(void)
{
	for (size_t i = 0; i < reader_count; i++)
		send_or_close(readers[i], event, event_len);
}

static void serve(int fd)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
	static const char done[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
	char request[4096];
	ssize_t n = recv(fd, request, sizeof request, 0);

	if (n <= 0) {
		close(fd);
		return;
	}
	if (request[0] == 'P') {
		publish();
		send_or_close(fd, done, sizeof done - 1);
		return;
	}
	send_or_close(fd, head, sizeof head - 1);
	if (reader_count < MAX_READERS)
		readers[reader_count++] = fd;
}

static void accept_one(int epoll, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK), on = 1;
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
}

static int listen_somewhere(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 1024) ||
	    getsockname(fd, (struct sockaddr *)&at, &len))
		exit(1);
	printf("{\"port\":%u}\n", ntohs(at.sin_port));
	fflush(stdout);
	return fd;
}

int main(int argc, char **argv)
{
	int epoll = epoll_create1(0), listener = listen_somewhere();
	struct epoll_event e = { .events = EPOLLIN, .data.fd = listener }, found[256];
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 300;

	event = malloc(size + 32);
	if (!event)
		return 1;
	memset(event, 'x', size + 32);
	memcpy(event, "id: 1\ndata: ", 12);
	event_len = size > 14 ? size : 14;
	memcpy(event + event_len - 2, "\n\n", 2);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &e);
	for (;;) {
		int n = epoll_wait(epoll, found, 256, -1);

		for (int i = 0; i < n; i++) {
			if (found[i].data.fd == listener)
				accept_one(epoll, listener);
			else
				serve(found[i].data.fd);
		}
	}
}
