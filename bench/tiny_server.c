/* See tiny_server.h. Everything runs on the calling thread. */
#include "tiny_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 256
#define ROOM (512u * 1024u) /* largest request: a conversation of many turns */

struct peer {
	int fd;
	size_t len;
	char *copy; /* of a paced answer; NULL: none is under way */
	struct tiny_answer left; /* of it */
	double due; /* milliseconds */
	struct peer *next; /* paced one */
	char in[ROOM];
};

struct tiny {
	int epoll, listener;
	tiny_answer_fn *answer;
	void *arg;
	struct peer *paced; /* those with an answer under way */
};

static void require(int is_fine, const char *what)
{
	if (is_fine)
		return;
	perror(what);
	exit(1);
}

static void open_listener(struct tiny *t)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof at;
	struct epoll_event ev = { .events = EPOLLIN };

	t->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	require(bind(t->listener, (struct sockaddr *)&at, sizeof at) == 0, "bind");
	require(listen(t->listener, 1024) == 0, "listen");
	getsockname(t->listener, (struct sockaddr *)&at, &len);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->listener, &ev);
	printf("{\"port\":%u}\n", ntohs(at.sin_port));
	fflush(stdout);
}

static void take_peers(struct tiny *t)
{
	int fd, on = 1;

	while ((fd = accept4(t->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct peer *p = malloc(sizeof *p);
		struct epoll_event ev = { .events = EPOLLIN, .data.ptr = p };

		require(p != NULL, "malloc");
		p->fd = fd;
		p->len = 0;
		p->copy = NULL;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &ev);
	}
}

/* The length of the first whole request in the buffer; 0 when it is not whole yet. */
static size_t request_length(const struct peer *p)
{
	const char *end = memmem(p->in, p->len, "\r\n\r\n", 4), *length;
	size_t head, body = 0;

	if (!end)
		return 0;
	head = (size_t)(end - p->in) + 4;
	length = memmem(p->in, head, "Content-Length: ", 16);
	if (length)
		body = strtoul(length + 16, NULL, 10);
	return p->len >= head + body ? head + body : 0;
}

/* Answers are far smaller than a socket's buffer, so what does not fit at once is waited for. */
static void send_all(int fd, struct tiny_answer a)
{
	while (a.len > 0) {
		ssize_t n = send(fd, a.p, a.len, MSG_NOSIGNAL);

		if (n < 0)
			return;
		a.p += n;
		a.len -= (size_t)n;
	}
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Up to the end of the first event. The last piece, which ends the answer, goes with the event before it. */
static struct tiny_answer first_piece(struct tiny_answer a)
{
	const char *end = memmem(a.p, a.len, "\n\n\r\n", 4);
	size_t len = end ? (size_t)(end - a.p) + 4 : a.len;

	return (struct tiny_answer){ .p = a.p, .len = len + 5 >= a.len ? a.len : len };
}

static struct tiny_answer send_piece(int fd, struct tiny_answer a)
{
	struct tiny_answer piece = first_piece(a);

	send_all(fd, piece);
	a.p += piece.len;
	a.len -= piece.len;
	return a;
}

/* The peer keeps a copy; the loop sends its pieces when they are due. */
static void begin_paced(struct tiny *t, struct peer *p, struct tiny_answer a)
{
	p->copy = malloc(a.len);
	require(p->copy != NULL, "malloc");
	memcpy(p->copy, a.p, a.len);
	p->left = a;
	p->left.p = p->copy;
	p->due = now_ms() + a.pause_ms;
	p->next = t->paced;
	t->paced = p;
}

static void end_paced(struct tiny *t, struct peer *p)
{
	struct peer **at = &t->paced;

	while (*at && *at != p)
		at = &(*at)->next;
	if (*at)
		*at = p->next;
	free(p->copy);
	p->copy = NULL;
}

static void send_answer(struct tiny *t, struct peer *p, struct tiny_answer a)
{
	if (!a.p)
		return;
	if (a.pause_ms > 0) {
		begin_paced(t, p, a);
		return;
	}
	if (!a.is_stream) {
		send_all(p->fd, a);
		return;
	}
	while (a.len > 0)
		a = send_piece(p->fd, a);
}

static void drop(struct tiny *t, struct peer *p)
{
	end_paced(t, p);
	close(p->fd);
	free(p);
}

static void serve_peer(struct tiny *t, struct peer *p)
{
	ssize_t n = recv(p->fd, p->in + p->len, ROOM - p->len, 0);
	size_t used;

	if (n <= 0) {
		drop(t, p);
		return;
	}
	p->len += (size_t)n;
	while ((used = request_length(p)) > 0) {
		send_answer(t, p, t->answer(t->arg, p->in, used));
		memmove(p->in, p->in + used, p->len - used);
		p->len -= used;
	}
}

/* Sends what is due; milliseconds until the next is, -1 when there is none. */
static int send_due(struct tiny *t)
{
	double now = t->paced ? now_ms() : 0, next = -1;

	for (struct peer *p = t->paced, *after; p; p = after) {
		after = p->next;
		if (p->due <= now) {
			p->left = send_piece(p->fd, p->left);
			p->due += p->left.pause_ms;
		}
		if (p->left.len == 0)
			end_paced(t, p);
		else if (next < 0 || p->due - now < next)
			next = p->due > now ? p->due - now : 0;
	}
	return next < 0 ? -1 : (int)next + 1;
}

void tiny_serve(tiny_answer_fn *answer, void *arg)
{
	struct tiny t = { .answer = answer, .arg = arg };
	struct epoll_event events[EVENTS];

	open_listener(&t);
	for (;;) {
		int n = epoll_wait(t.epoll, events, EVENTS, send_due(&t));

		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr)
				serve_peer(&t, events[i].data.ptr);
			else
				take_peers(&t);
		}
	}
}
