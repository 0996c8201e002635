/* Fuzz target: the parameters of SendMessage, push configurations, and facts that are folded into a task.
 * What is taken has a message id and an input that is JSON, or a url; what is refused says why; a task that
 * was folded can be written, as JSON. */
#include "a2a_message.h"
#include "a2a_task.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_json(struct ar_json_parser *parser, struct ar_str text)
{
	struct ar_json doc;

	AR_ASSERT(ar_json_parse(parser, text, &doc, NULL) == AR_OK);
}

static void check_fold(struct ar_json_parser *parser, struct ar_json doc, struct ar_arena *a)
{
	struct ar_a2a_task t = { .arena = a, .base = AR_STR("http://localhost") };
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);

	ar_a2a_fold(&t, doc);
	for (struct ar_json_iter it = ar_json_iter(doc); ar_json_next(&it);)
		ar_a2a_fold(&t, it.value);
	ar_a2a_write_task(&w, &t, -1, true, AR_STR("1"));
	check_json(parser, ar_buf_str(&out));
	ar_buf_fini(&out);
}

static void check_push(struct ar_json_parser *parser, struct ar_json doc, struct ar_arena *a)
{
	struct ar_a2a_failure f = { 0 };
	struct ar_a2a_push push;
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);

	if (!ar_a2a_read_push(doc, a, &push, &f)) {
		AR_ASSERT(f.code && f.why[0]);
		return;
	}
	AR_ASSERT(!ar_str_empty(push.url) && !f.code);
	AR_ASSERT(ar_str_absent(push.token) || !memchr(push.token.p, '\n', push.token.len));
	ar_a2a_write_push(&w, &push);
	check_json(parser, ar_buf_str(&out));
	ar_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct ar_json_parser *parser, *second;
	struct ar_a2a_failure f = { 0 };
	struct ar_arena arena = { 0 };
	struct ar_a2a_send send;
	struct ar_json doc;

	if (!parser) {
		parser = ar_json_parser_new();
		second = ar_json_parser_new();
	}
	if (ar_json_parse(parser, (struct ar_str){ (const char *)bytes, len }, &doc, NULL) != AR_OK)
		return 0;
	if (ar_a2a_read_send(doc, &arena, &send, &f)) {
		AR_ASSERT(!ar_str_empty(send.message_id) && !f.code);
		check_json(second, send.input);
	} else {
		AR_ASSERT(f.code && f.why[0]);
	}
	check_push(second, doc, &arena);
	check_fold(second, doc, &arena);
	ar_arena_fini(&arena);
	return 0;
}
