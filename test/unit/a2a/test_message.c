/* What a client of A2A may send, and what is refused with which member. */
#include "a2a_message.h"
#include "a2a_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct ar_json_parser *parser;
	struct ar_arena arena;
	struct ar_a2a_send send;
	struct ar_a2a_failure failure;
};

static bool reads(struct fixture *x, const char *text)
{
	struct ar_json doc;

	x->failure = (struct ar_a2a_failure){ 0 };
	assert_int_equal(ar_json_parse(x->parser, ar_str_from(text), &doc, NULL), AR_OK);
	return ar_a2a_read_send(doc, &x->arena, &x->send, &x->failure);
}

static int open_fixture(void **state)
{
	static struct fixture x;

	x = (struct fixture){ .parser = ar_json_parser_new() };
	*state = &x;
	return 0;
}

static int close_fixture(void **state)
{
	struct fixture *x = *state;

	ar_arena_fini(&x->arena);
	ar_json_parser_free(x->parser);
	return 0;
}

#define MESSAGE(parts) "{\"message\":{\"messageId\":\"m\",\"role\":\"ROLE_USER\",\"parts\":" parts "}}"

static void parts_become_an_input(void **state)
{
	struct fixture *x = *state;

	assert_true(
		reads(x,
		      MESSAGE("[{\"text\":\"a\"},{\"data\":{\"k\":1}},{\"raw\":\"aGk=\"},"
			      "{\"raw\":\"AAEC\",\"mediaType\":\"image/png\"},{\"url\":\"http://x/y\"}]")));
	assert_string_equal(
		x->send.input.p,
		"[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"{\\\"k\\\":1}\"},"
		"{\"type\":\"text\",\"text\":\"hi\"},"
		"{\"type\":\"image\",\"data\":\"AAEC\",\"mimeType\":\"image/png\"},"
		"{\"type\":\"text\",\"text\":\"File: http://x/y\"}]");
	assert_string_equal(x->send.data.p, "{\"k\":1}");
	assert_true(ar_str_absent(x->send.task) && ar_str_absent(x->send.context));
	assert_int_equal(x->send.history, -1);
}

static void what_is_wrong_is_named(void **state)
{
	static const char *const cases[][2] = {
		{ "{}", "message" },
		{ MESSAGE("[]"), "message.parts" },
		{ MESSAGE("[{}]"), "message.parts" },
		{ MESSAGE("[{\"text\":\"a\",\"data\":null}]"), "message.parts" },
		{ MESSAGE("[{\"raw\":\"*\"}]"), "message.parts.raw" },
		{ "{\"message\":{\"role\":\"ROLE_USER\",\"parts\":[{\"text\":\"a\"}]}}",
		  "message.messageId" },
		{ "{\"message\":{\"messageId\":\"m\",\"role\":\"user\",\"parts\":[{\"text\":\"a\"}]}}",
		  "message.role" },
		{ "{\"message\":{\"messageId\":7,\"role\":\"ROLE_USER\",\"parts\":[{\"text\":\"a\"}]}}",
		  "messageId" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		assert_false(reads(x, cases[i][0]));
		assert_int_equal(x->failure.code, AR_A2A_INVALID_PARAMS);
		assert_string_equal(x->failure.field, cases[i][1]);
	}
	assert_false(reads(x, MESSAGE("[{\"raw\":\"AAEC\",\"mediaType\":\"application/zip\"}]")));
	assert_int_equal(x->failure.code, AR_A2A_CONTENT_TYPE);
}

/* Folds the facts, one JSON text each. */
static void fold(struct fixture *x, struct ar_a2a_task *t, const char *const *facts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct ar_json fact;

		assert_int_equal(ar_json_parse(x->parser, ar_str_from(facts[i]), &fact, NULL), AR_OK);
		ar_a2a_fold(t, fact);
	}
}

static void an_answer_is_an_artifact_before_the_end(void **state)
{
	static const char *const facts[] = {
		"{\"type\":\"turn.submitted\",\"sequence\":4,\"sessionId\":\"s\",\"channelId\":\"c\","
		"\"payload\":{}}",
		"{\"type\":\"task.started\",\"sequence\":5,\"timestamp\":\"2026-01-31T10:00:00.123456Z\","
		"\"payload\":{}}",
		"{\"type\":\"model.completed\",\"sequence\":6,\"payload\":{\"outputRef\":\"r\",\"preview\":"
		"\"hi\",\"outputBytes\":2}}",
		"{\"type\":\"task.attempt.completed\",\"sequence\":7,\"payload\":{\"outputRefs\":[\"r\"]}}",
		"{\"type\":\"something.new\",\"sequence\":8,\"payload\":{}}",
	};
	struct fixture *x = *state;
	struct ar_a2a_task t = { .arena = &x->arena };

	fold(x, &t, facts, AR_ARRAY_LEN(facts));
	assert_int_equal(t.state, AR_A2A_WORKING);
	assert_string_equal(t.at.p, "2026-01-31T10:00:00.123Z");
	assert_int_equal(t.artifact_count, 1);
	assert_string_equal(t.artifacts[0].text.p, "hi");
	assert_null(ar_a2a_unread(&t));
	assert_int_equal(t.sequence, 8);
}

static void a_long_answer_has_to_be_read(void **state)
{
	static const char *const facts[] = {
		"{\"type\":\"model.completed\",\"sequence\":1,\"payload\":{\"outputRef\":\"r\",\"preview\":"
		"\"hi\",\"outputBytes\":9000}}",
		"{\"type\":\"task.attempt.completed\",\"sequence\":2,\"payload\":{\"outputRefs\":[\"r\"]}}",
	};
	struct fixture *x = *state;
	struct ar_a2a_task t = { .arena = &x->arena };

	fold(x, &t, facts, AR_ARRAY_LEN(facts));
	assert_non_null(ar_a2a_unread(&t));
	assert_string_equal(ar_a2a_unread(&t)->ref.p, "r");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(parts_become_an_input, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(what_is_wrong_is_named, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(an_answer_is_an_artifact_before_the_end, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(a_long_answer_has_to_be_read, open_fixture, close_fixture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
