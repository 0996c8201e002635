/* See client.h. */
#include "client.h"

#include "mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 512
#define READ_ROOM 65536
#define PATIENCE_MS 300000 /* only ends what hangs: a machine may get a tenth of a processor */

double client_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

void client_die(const char *what, struct ar_str detail)
{
	fprintf(stderr, "bench: %s: %.*s\n", what, AR_STR_ARG(detail));
	exit(1);
}

void client_open(struct client *cl, unsigned port, client_reply_fn *on_reply, void *arg)
{
	*cl = (struct client){ .port = port, .on_reply = on_reply, .arg = arg };
	cl->epoll = epoll_create1(EPOLL_CLOEXEC);
}

struct client_conn *client_connect(struct client *cl, size_t number)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)cl->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct client_conn *c = ar_new0(sizeof *c);
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = c };
	int on = 1;

	c->number = number;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(c->fd, (struct sockaddr *)&at, sizeof at) != 0)
		client_die("connect", ar_str_from(strerror(errno)));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	epoll_ctl(cl->epoll, EPOLL_CTL_ADD, c->fd, &ev);
	return c;
}

/* Requests are small: a blocking send never waits for a server that reads. */
void client_post(struct client *cl, struct client_conn *c, const char *path, struct ar_str body)
{
	(void)cl;
	ar_buf_clear(&c->out);
	ar_buf_addf(&c->out,
		    "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
		    "Content-Length: %zu\r\n\r\n",
		    path, body.len);
	ar_buf_adds(&c->out, body);
	c->started = client_now();
	if (send(c->fd, c->out.p, c->out.len, MSG_NOSIGNAL) != (ssize_t)c->out.len)
		client_die("send", ar_str_from(strerror(errno)));
}

/* Length of the whole answer at the start of the buffer; 0 when it is not whole. */
static size_t answer_length(const struct client_conn *c)
{
	const char *end = memmem(c->in.p, c->in.len, "\r\n\r\n", 4), *length;
	size_t head;

	if (!end)
		return 0;
	head = (size_t)(end - c->in.p) + 4;
	length = memmem(c->in.p, head, "Content-Length: ", 16);
	if (length)
		head += strtoul(length + 16, NULL, 10);
	return c->in.len >= head ? head : 0;
}

/* After its head a stream is events only; an end of line twice ends one. */
static size_t events_length(const struct client_conn *c)
{
	for (size_t n = c->in.len; n > 1; n--) {
		if (c->in.p[n - 1] == '\n' && c->in.p[n - 2] == '\n')
			return n;
	}
	return 0;
}

static void read_some(struct client *cl, struct client_conn *c)
{
	char *to = ar_buf_room(&c->in, READ_ROOM);
	ssize_t n = recv(c->fd, to, READ_ROOM, 0);
	size_t len;

	if (n <= 0)
		client_die("the server closed a connection", ar_buf_str(&c->out));
	c->in.len += (size_t)n;
	len = c->is_stream ? events_length(c) : answer_length(c);
	if (!len)
		return;
	cl->on_reply(c, (struct ar_str){ c->in.p, len }, cl->arg);
	ar_buf_eat(&c->in, len);
}

void client_run(struct client *cl)
{
	struct epoll_event events[EVENTS];

	while (!cl->is_over) {
		int n = epoll_wait(cl->epoll, events, EVENTS, PATIENCE_MS);

		if (n == 0)
			client_die("no answer", AR_STR("for five minutes"));
		for (int i = 0; i < n; i++)
			read_some(cl, events[i].data.ptr);
	}
}

void client_read_session(const char *what, struct ar_str answer, const char *status, char id[CLIENT_ID_ROOM])
{
	const char *at = memmem(answer.p, answer.len, "\"sessionId\":\"", 13);

	if (!ar_str_starts(answer, ar_str_from(status)) || !at)
		client_die(what, answer);
	snprintf(id, CLIENT_ID_ROOM, "%.*s", (int)strcspn(at + 13, "\""), at + 13);
}

struct client_conn *client_follow(struct client *cl, size_t number, const char *id, const char *filter)
{
	struct client_conn *c = client_connect(cl, number);
	struct ar_buf body = { 0 };

	c->is_stream = true;
	ar_buf_addf(&body, "{\"sessionId\":\"%s\"%s}", id, filter);
	client_post(cl, c, "/v1/subscribe_events", ar_buf_str(&body));
	ar_buf_fini(&body);
	return c;
}

size_t client_count(struct ar_str text, struct ar_str word)
{
	size_t n = 0;

	for (const char *at; (at = memmem(text.p, text.len, word.p, word.len)); n++)
		text = ar_str_sub(text, (size_t)(at - text.p) + 1, text.len);
	return n;
}

size_t client_count_ends(struct ar_str events)
{
	if (client_count(events, AR_STR("\"type\":\"turn.failed\"")))
		client_die("a turn failed", events);
	return client_count(events, AR_STR("data: {\"type\":\"turn.completed\""));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double client_percentile(double *values, size_t n, double p)
{
	size_t at = (size_t)((double)n * p);

	qsort(values, n, sizeof *values, by_value);
	return n ? values[at < n ? at : n - 1] : 0;
}

struct ar_str *client_lines(const char *path, size_t *ret_count)
{
	FILE *f = fopen(path, "r");
	struct ar_str *lines = NULL;
	char *line = NULL;
	size_t room = 0, count = 0;
	ssize_t n;

	if (!f)
		client_die(path, ar_str_from(strerror(errno)));
	while ((n = getline(&line, &room, f)) > 0) {
		struct ar_str text = { line, (size_t)n - (line[n - 1] == '\n') };

		lines = ar_grow(lines, count + 1, sizeof *lines);
		lines[count++] = (struct ar_str){ ar_str_dup(text), text.len };
	}
	free(line);
	fclose(f);
	*ret_count = count;
	return lines;
}
