/* See recorded.h. The answer depends on the request alone: how many messages the person sent, and how many
 * answers came since the last of them. */
#include "first/recorded.h"
#include "api.h"
#include "io/descriptor.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define REQUEST_MAX ((size_t)4 << 20)
#define PEER_SECONDS 10 /* that a peer may be silent */
#define WORD_MS 15 /* between two words: an answer is seen to come */

struct call {
	const char *tool, *args; /* the latter is JSON */
};

struct answer {
	const char *text;
	struct call calls[2];
};

#define LAST \
	"The recorded answers end here. Ctrl-D leaves; nothing of this demo stays. `agentctl` begins with " \
	"a " \
	"model of yours."

static const struct answer work[] = {
	{ "I read the program and run its test.",
	  { { "read_file", "{\"path\":\"price.sh\"}" }, { "shell", "{\"command\":\"sh test.sh\"}" } } },
	{ "The discount is never taken off. I correct that and run the test again.",
	  { { "edit_file", "{\"path\":\"price.sh\",\"oldText\":\"echo \\\"$sum\\\"\",\"newText\":\"echo "
			   "\\\"$((sum - sum / 10))\\\"\"}" } } },
	{ "", { { "shell", "{\"command\":\"sh test.sh\"}" } } },
	{ "The test passes. I also want to remove the old build folder. A command that deletes folders asks "
	  "you "
	  "first.",
	  { { "shell", "{\"command\":\"rm -rf build\"}" } } },
	{ "**Done.** `price.sh` takes 10 % off, and its test passes.\n\n"
	  "- Type `/undo` to take the changes of the files back.\n"
	  "- Type anything else for the last recorded answer, or Ctrl-D to leave.\n",
	  { { NULL, NULL } } },
};
static const struct answer last = { .text = LAST };

/* ---- which answer ---- */

static const struct answer *answer_to(struct ar_json request)
{
	size_t people = 0, answers = 0;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(request, "messages")); ar_json_next(&it);) {
		struct ar_str role = ar_api_str(it.value, "role");

		if (ar_str_is(role, "user")) {
			people++;
			answers = 0;
		}
		answers += ar_str_is(role, "assistant");
	}
	return people > 1 || answers >= AR_ARRAY_LEN(work) ? &last : &work[answers];
}

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

static bool send_words(int fd, struct ar_buf *out, struct ar_str text)
{
	struct ar_jw w;
	bool is_ok = true;

	while (is_ok && text.len) {
		size_t len = strcspn(text.p, " ");

		len = len < text.len ? len + 1 : text.len;
		begin_chunk(out, &w);
		ar_jw_mstr(&w, "content", ar_str_sub(text, 0, len));
		is_ok = send_chunk(fd, out, &w, NULL);
		text = ar_str_sub(text, len, text.len - len);
		poll(NULL, 0, WORD_MS);
	}
	return is_ok;
}

static void add_call(struct ar_jw *w, size_t i, const struct call *call)
{
	char id[16];

	snprintf(id, sizeof(id), "call_%zu", i + 1);
	ar_jw_open(w);
	ar_jw_mint(w, "index", (int64_t)i);
	ar_jw_mstr(w, "id", ar_str_from(id));
	ar_jw_mstr(w, "type", AR_STR("function"));
	ar_jw_key(w, "function");
	ar_jw_open(w);
	ar_jw_mstr(w, "name", ar_str_from(call->tool));
	ar_jw_mstr(w, "arguments", ar_str_from(call->args));
	ar_jw_close(w);
	ar_jw_close(w);
}

static void send_answer(int fd, const struct answer *a)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	bool has_calls = a->calls[0].tool;
	struct ar_jw w;

	if (!send_words(fd, &out, ar_str_from(a->text)))
		return;
	begin_chunk(&out, &w);
	if (has_calls) {
		ar_jw_key(&w, "tool_calls");
		ar_jw_open_array(&w);
		for (size_t i = 0; i < AR_ARRAY_LEN(a->calls) && a->calls[i].tool; i++)
			add_call(&w, i, &a->calls[i]);
		ar_jw_close_array(&w);
	}
	if (send_chunk(fd, &out, &w, has_calls ? "tool_calls" : "stop"))
		send_last(fd, AR_STR("data: [DONE]\n\n"));
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

static void serve_one(int fd)
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
	if (body.len && ar_json_parse(parser, body, &request, NULL) == AR_OK) {
		if (ar_fd_write_all(fd, AR_STR(HEAD "text/event-stream\r\n\r\n")))
			send_answer(fd, answer_to(request));
	} else {
		send_last(fd, AR_STR(HEAD "application/json\r\n\r\n" MODELS));
	}
	ar_json_parser_free(parser);
}

void ar_recorded_serve(int listener, int until)
{
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
		serve_one(fd);
		close(fd);
	}
}
