/* The reader of a peer's answer: llhttp (strict build) in response mode with our caps on head and body.
 * Of the headers only the content type matters here, and where a session was as its stream began. Peers
 * hold the cluster's key, but a node gone wrong must not take its neighbours along. */
#include "peer/h1_answer.h"
#include "message.h"

#include <string.h>
#include <strings.h>

#define MAX_EXTENSION_BYTES ((size_t)1024)

static int refuse(struct ar_h1_answer *a, const char *why)
{
	a->fault = why;
	return HPE_USER;
}

/* Keeps the beginning of what comes in spans; longer texts are none that we look for. */
static void append_bytes(char *to, size_t room, size_t *at, const char *bytes, size_t len)
{
	size_t left = room - *at;

	memcpy(to + *at, bytes, len < left ? len : left);
	*at += len < left ? len : left;
}

static int on_header_field(llhttp_t *p, const char *at, size_t len)
{
	struct ar_h1_answer *a = p->data;

	if (a->has_head)
		return refuse(a, "the answer has trailer fields");
	append_bytes(a->name, sizeof a->name, &a->name_len, at, len);
	return 0;
}

static int on_header_value(llhttp_t *p, const char *at, size_t len)
{
	struct ar_h1_answer *a = p->data;

	append_bytes(a->value, sizeof a->value, &a->value_len, at, len);
	return 0;
}

static bool is_event_stream(struct ar_str type)
{
	static const char stream[] = "text/event-stream";
	size_t len = sizeof stream - 1;

	return type.len >= len && strncasecmp(type.p, stream, len) == 0 &&
	       (type.len == len || type.p[len] == ';' || type.p[len] == ' ');
}

/* Clients get it as a number with a sign. */
static uint64_t sequence_of(struct ar_str text)
{
	int64_t sequence;

	return ar_str_to_i64(text, &sequence) && sequence > 0 ? (uint64_t)sequence : 0;
}

static int on_header_value_complete(llhttp_t *p)
{
	struct ar_h1_answer *a = p->data;
	struct ar_str name = { a->name, a->name_len }, value = { a->value, a->value_len };

	if (ar_is_word(name, "content-type"))
		a->has_stream_type = is_event_stream(value);
	else if (ar_is_word(name, AR_AS_OF_HEADER))
		a->as_of = sequence_of(value);
	a->name_len = a->value_len = 0;
	return 0;
}

static int on_headers_complete(llhttp_t *p)
{
	struct ar_h1_answer *a = p->data;

	a->has_head = true;
	a->status = p->status_code;
	a->is_keepalive = llhttp_should_keep_alive(p);
	a->is_stream = a->wants_stream && a->status == 200 && a->has_stream_type;
	if (a->status < 200 || a->status > 599)
		return refuse(a, "the answer has an interim status");
	if (!a->is_stream && p->content_length > AR_ANSWER_BODY_MAX && (p->flags & F_CONTENT_LENGTH))
		return refuse(a, "the answer is too large");
	if (a->is_stream)
		a->v->opened(a);
	return 0;
}

static int on_body(llhttp_t *p, const char *at, size_t len)
{
	struct ar_h1_answer *a = p->data;

	if (a->is_stream) {
		a->v->bytes(a, (struct ar_str){ at, len });
		return 0;
	}
	ar_buf_add(&a->body, at, len);
	return a->body.failed ? refuse(a, "the answer is too large") : 0;
}

static int on_extension(llhttp_t *p, const char *at AR_UNUSED, size_t len)
{
	struct ar_h1_answer *a = p->data;

	a->extension_bytes += len;
	return a->extension_bytes > MAX_EXTENSION_BYTES ? refuse(a, "the chunk extensions are too long") : 0;
}

static int on_message_complete(llhttp_t *p)
{
	((struct ar_h1_answer *)p->data)->is_done = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_header_field = on_header_field,
	.on_header_value = on_header_value,
	.on_header_value_complete = on_header_value_complete,
	.on_headers_complete = on_headers_complete,
	.on_body = on_body,
	.on_chunk_extension_name = on_extension,
	.on_chunk_extension_value = on_extension,
	.on_message_complete = on_message_complete,
};

void ar_h1_answer_init(struct ar_h1_answer *a, const struct ar_h1_answer_vtable *v)
{
	*a = (struct ar_h1_answer){ .v = v, .wants_stream = v != NULL };
	a->body.cap = AR_ANSWER_BODY_MAX;
	llhttp_init(&a->parser, HTTP_RESPONSE, &settings);
	a->parser.data = a;
}

void ar_h1_answer_fini(struct ar_h1_answer *a)
{
	ar_buf_fini(&a->body);
}

/* What was found first stays. */
static enum ar_h1_answer_outcome refuse_answer(struct ar_h1_answer *a, const char *why)
{
	if (!a->fault)
		a->fault = why;
	return AR_H1_ANSWER_BAD;
}

static enum ar_h1_answer_outcome run(struct ar_h1_answer *a, struct ar_str bytes, size_t *ret_used)
{
	llhttp_errno_t e = llhttp_execute(&a->parser, bytes.p, bytes.len);

	*ret_used = bytes.len;
	if (e == HPE_OK)
		return AR_H1_ANSWER_MORE;
	if (!a->is_done || e != HPE_PAUSED)
		return refuse_answer(a, "the answer does not parse");
	*ret_used = (size_t)(llhttp_get_error_pos(&a->parser) - bytes.p);
	return AR_H1_ANSWER_DONE;
}

enum ar_h1_answer_outcome ar_h1_answer_feed(struct ar_h1_answer *a, struct ar_str bytes, size_t *ret_used)
{
	enum ar_h1_answer_outcome outcome = AR_H1_ANSWER_MORE;
	size_t used;

	*ret_used = 0;
	/* A head is fed in portions that end at its cap, so that the parser never reads a longer one. */
	while (outcome == AR_H1_ANSWER_MORE && *ret_used < bytes.len) {
		size_t room = a->has_head ? bytes.len : AR_ANSWER_HEAD_MAX - a->head_bytes;
		bool had_head = a->has_head;

		outcome = run(a, ar_str_sub(bytes, *ret_used, room), &used);
		*ret_used += used;
		a->head_bytes += had_head ? 0 : used;
		if (!a->has_head && a->head_bytes == AR_ANSWER_HEAD_MAX)
			return refuse_answer(a, "the head of the answer is too large");
	}
	return outcome;
}

enum ar_h1_answer_outcome ar_h1_answer_finish(struct ar_h1_answer *a)
{
	a->is_keepalive = false;
	if (a->has_head && llhttp_finish(&a->parser) != HPE_OK && !a->is_done)
		return refuse_answer(a, "the connection ended in the middle of the answer");
	if (!a->is_done)
		return refuse_answer(a, "the connection ended before an answer came");
	return AR_H1_ANSWER_DONE;
}
