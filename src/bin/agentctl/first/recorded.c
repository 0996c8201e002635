/* See recorded.h. */
#include "first/recorded.h"
#include "api.h"
#include "io/descriptor.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define REQUEST_MAX ((size_t)64 << 20)
#define PEER_SECONDS 10 /* that a peer may be silent */

struct model {
	ar_recorded_fn *answer;
	void *arg;
};

/* ---- how it is said ---- */

static void begin_chunk(struct ar_buf *out, struct ar_jw *w)
{
	ar_buf_clear(out);
	ar_buf_addz(out, "data: ");
	*w = ar_jw(out);
	ar_jw_open(w);
	ar_jw_mstr(w, "id", AR_STR("recorded"));
	ar_jw_mstr(w, "object", AR_STR("chat.completion.chunk"));
	ar_jw_mstr(w, "model", AR_STR("recorded"));
	ar_jw_key(w, "choices");
	ar_jw_open_array(w);
	ar_jw_open(w);
	ar_jw_mint(w, "index", 0);
	ar_jw_key(w, "delta");
	ar_jw_open(w);
}

static bool send_chunk(int fd, struct ar_buf *out, struct ar_jw *w, const char *reason)
{
	ar_jw_close(w);
	if (reason)
		ar_jw_mstr(w, "finish_reason", ar_str_from(reason));
	ar_jw_close(w);
	ar_jw_close_array(w);
	ar_jw_close(w);
	ar_buf_addz(out, "\n\n");
	return ar_fd_write_all(fd, ar_buf_str(out));
}

/* A peer that is gone misses nothing. */
static void send_last(int fd, struct ar_str text)
{
	shutdown(fd, ar_fd_write_all(fd, text) ? SHUT_WR : SHUT_RDWR);
}

static bool send_words(int fd, struct ar_buf *out, struct ar_str text, int pause)
{
	struct ar_jw w;
	bool is_ok = true;

	while (is_ok && text.len) {
		const char *space = pause ? memchr(text.p, ' ', text.len) : NULL;
		size_t len = space ? (size_t)(space - text.p) + 1 : text.len;

		begin_chunk(out, &w);
		ar_jw_mstr(&w, "content", ar_str_sub(text, 0, len));
		is_ok = send_chunk(fd, out, &w, NULL);
		text = ar_str_sub(text, len, text.len - len);
		poll(NULL, 0, pause);
	}
	return is_ok;
}

static void add_call(struct ar_jw *w, size_t i, const struct ar_recorded_call *call)
{
	char id[32];

	snprintf(id, sizeof(id), "call_%zu", i + 1);
	ar_jw_open(w);
	ar_jw_mint(w, "index", (int64_t)i);
	ar_jw_mstr(w, "id", ar_str_from(id));
	ar_jw_mstr(w, "type", AR_STR("function"));
	ar_jw_key(w, "function");
	ar_jw_open(w);
	ar_jw_mstr(w, "name", call->tool);
	ar_jw_mstr(w, "arguments", call->args);
	ar_jw_close(w);
	ar_jw_close(w);
}

static void send_answer(int fd, const struct ar_recorded_answer *a)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	struct ar_jw w;

	if (!send_words(fd, &out, a->text, a->word_ms))
		return;
	begin_chunk(&out, &w);
	if (a->count) {
		ar_jw_key(&w, "tool_calls");
		ar_jw_open_array(&w);
		for (size_t i = 0; i < a->count; i++)
			add_call(&w, i, &a->calls[i]);
		ar_jw_close_array(&w);
	}
	if (send_chunk(fd, &out, &w, a->count ? "tool_calls" : "stop"))
		send_last(fd, AR_STR("data: [DONE]\n\n"));
}

static void send_refusal(int fd, int64_t status)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };

	ar_buf_addf(&out,
		    "HTTP/1.1 %lld Recorded\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n"
		    "{\"error\":{\"message\":\"recorded\"}}",
		    (long long)status);
	send_last(fd, ar_buf_str(&out));
}

/* ---- HTTP ---- */

#define HEAD "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: "
#define MODELS "{\"object\":\"list\",\"data\":[{\"id\":\"recorded\",\"object\":\"model\"}]}"

/* Bytes of a whole request: its head and what Content-Length says; 0: not known yet. */
static size_t request_bytes(struct ar_buf *in, const char **ret_body)
{
	const char *end, *length;

	ar_buf_addc(in, 0);
	in->len--;
	end = strstr(in->p, "\r\n\r\n");
	if (!end)
		return 0;
	*ret_body = end + 4;
	length = strcasestr(in->p, "\r\nContent-Length:");
	return (size_t)(*ret_body - in->p) +
	       (length && length < end ? strtoul(length + strlen("\r\nContent-Length:"), NULL, 10) : 0);
}

static bool read_request(int fd, struct ar_buf *in, struct ar_str *ret_body)
{
	const char *body = NULL;
	size_t whole = 0;
	char piece[8192];
	ssize_t n;

	while ((!whole || in->len < whole) && in->len < REQUEST_MAX) {
		n = read(fd, piece, sizeof(piece));
		if (n <= 0)
			return false;
		ar_buf_add(in, piece, (size_t)n);
		whole = request_bytes(in, &body);
	}
	if (!whole || in->len < whole)
		return false;
	*ret_body = (struct ar_str){ body, whole - (size_t)(body - in->p) };
	return true;
}

/* The value of a header of the request; absent: it has none. */
static struct ar_str header_of(const struct ar_buf *in, const char *name)
{
	const char *at = strcasestr(in->p, name), *end = strstr(in->p, "\r\n\r\n");
	struct ar_str value;

	if (!at || at > end)
		return AR_STR_NONE;
	at += strlen(name);
	ar_str_split((struct ar_str){ at, (size_t)(end - at) }, '\r', &value);
	return ar_str_trim(value, " ");
}

static void answer_request(int fd, const struct model *m, const struct ar_buf *in, struct ar_json request)
{
	struct ar_recorded_answer a = m->answer(m->arg, header_of(in, "\r\nX-AR-Turn:"), request);

	if (a.status)
		send_refusal(fd, a.status);
	else if (ar_fd_write_all(fd, AR_STR(HEAD "text/event-stream\r\n\r\n")))
		send_answer(fd, &a);
}

static void serve_one(int fd, const struct model *m)
{
	AR_AUTO(ar_buf_fini) struct ar_buf in = { 0 };
	struct ar_json_parser *parser = ar_json_parser_new();
	struct timeval patience = { .tv_sec = PEER_SECONDS };
	struct ar_json request;
	struct ar_str body;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!read_request(fd, &in, &body)) {
		ar_json_parser_free(parser);
		return;
	}
	if (body.len && ar_json_parse(parser, body, &request, NULL) == AR_OK)
		answer_request(fd, m, &in, request);
	else
		send_last(fd, AR_STR(HEAD "application/json\r\n\r\n" MODELS));
	ar_json_parser_free(parser);
}

void ar_recorded_serve(int listener, int until, ar_recorded_fn *answer, void *arg)
{
	struct model m = { answer, arg };

	for (;;) {
		struct pollfd fds[] = { { .fd = until, .events = POLLIN },
					{ .fd = listener, .events = POLLIN } };
		int fd;

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents)
			return;
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			continue;
		serve_one(fd, &m);
		close(fd);
	}
}
