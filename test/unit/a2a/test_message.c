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
	assert_string_equal(t.artifacts[0].content.p, "hi");
	assert_null(ar_a2a_unread(&t));
	assert_int_equal(t.sequence, 8);
	ar_a2a_task_fini(&t);
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

#define FILE_FACT(bytes) \
	"{\"type\":\"artifact.changed\",\"sequence\":1,\"artifactId\":\"a\",\"payload\":{\"change\":" \
	"\"produced\"," \
	"\"readRef\":\"r\",\"path\":\"x.txt\",\"state\":\"available\",\"sizeBytes\":" bytes "}}"

/* What was read is not always what the fact said. */
static void a_file_is_shown_by_its_bytes_only_if_all_are_there(void **state)
{
	static const struct {
		const char *fact, *output, *content; /* NULL: by its address */
	} cases[] = {
		{ FILE_FACT("2"), "{\"content\":\"hi\",\"encoding\":\"utf-8\",\"sizeBytes\":2}", "aGk=" },
		{ FILE_FACT("3"), "{\"content\":\"AAEC\",\"encoding\":\"base64\",\"sizeBytes\":3}", "AAEC" },
		{ FILE_FACT("0"), "{\"content\":\"\",\"encoding\":\"utf-8\",\"sizeBytes\":0}", "" },
		{ FILE_FACT("2"), "{\"content\":\"hi\",\"encoding\":\"utf-8\",\"sizeBytes\":9}", NULL },
		{ FILE_FACT("2"), "{\"content\":\"*\",\"encoding\":\"base64\",\"sizeBytes\":2}", NULL },
		{ FILE_FACT("2"), "{\"state\":\"expired\"}", NULL },
		{ FILE_FACT("32769"), NULL, NULL },
		{ FILE_FACT("-1"), NULL, NULL },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_a2a_task t = { .arena = &x->arena };
		struct ar_a2a_artifact *f;
		struct ar_json output = { 0 };

		fold(x, &t, &cases[i].fact, 1);
		f = ar_a2a_unread(&t);
		assert_int_equal(f != NULL, cases[i].output != NULL);
		if (f) {
			assert_int_equal(ar_json_parse(x->parser, ar_str_from(cases[i].output), &output,
						       NULL),
					 AR_OK);
			ar_a2a_take_output(&t, f, output);
		}
		assert_null(ar_a2a_unread(&t));
		assert_int_equal(t.artifacts[0].is_link, cases[i].content == NULL);
		if (cases[i].content)
			assert_string_equal(t.artifacts[0].content.p, cases[i].content);
		ar_a2a_task_fini(&t);
	}
}

/* Each version frees the room of the one before it. */
static void files_share_their_room(void **state)
{
	static const char *const fact = FILE_FACT("32768");
	struct fixture *x = *state;
	struct ar_a2a_task t = { .arena = &x->arena };

	for (int i = 0; i < 20; i++)
		fold(x, &t, &fact, 1);
	assert_int_equal(t.artifact_count, 1);
	assert_int_equal(t.file_bytes, 32768);
	assert_false(t.artifacts[0].is_link);
}

/* A stream that lives long sees many of them. */
static void an_old_version_leaves_no_memory(void **state)
{
	static const char *const fact = FILE_FACT("30000");
	struct fixture *x = *state;
	struct ar_a2a_task t = { .arena = &x->arena };
	struct ar_buf output = { 0 };
	struct ar_json doc;

	ar_buf_addz(&output, "{\"encoding\":\"utf-8\",\"sizeBytes\":30000,\"content\":\"");
	for (int i = 0; i < 30000; i++)
		ar_buf_addc(&output, 'x');
	ar_buf_addz(&output, "\"}");
	for (int i = 0; i < 200; i++) {
		fold(x, &t, &fact, 1);
		assert_int_equal(ar_json_parse(x->parser, ar_buf_str(&output), &doc, NULL), AR_OK);
		ar_a2a_take_output(&t, ar_a2a_unread(&t), doc);
	}
	assert_int_equal(t.artifacts[0].content.len, 40000);
	assert_in_range(x->arena.total, 0, 1000000);
	ar_a2a_task_fini(&t);
	ar_buf_fini(&output);
}

#define SUBMITTED "{\"type\":\"turn.submitted\",\"sessionId\":\"s\",\"channelId\":\"c\",\"payload\":{}}"
#define ASKED "{\"type\":\"action.required\",\"actionId\":\"a\",\"payload\":{\"prompt\":\"?\"}}"

/* The client sees its own words. Others who decide may have said why, to those on this side. */
static void a_comment_is_shown_to_who_made_it(void **state)
{
	static const char *const cases[][2] = {
		{ "\"channelId\":\"c\",", "because" },
		{ "\"channelId\":\"d\",", "allow" },
		{ "", "allow" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_a2a_task t = { .arena = &x->arena };
		struct ar_str answer =
			ar_arena_fmt(&x->arena,
				     "{\"type\":\"action.resolved\",\"actionId\":\"a\",\"payload\":{%s"
				     "\"decision\":\"allow\",\"comment\":\"because\"}}",
				     cases[i][0]);

		fold(x, &t, (const char *const[]){ SUBMITTED, ASKED, answer.p }, 3);
		assert_int_equal(t.history_count, 2);
		assert_string_equal(t.history[1].text.p, cases[i][1]);
	}
}

static struct ar_str nested(struct fixture *x, int levels)
{
	struct ar_buf text = { 0 };
	struct ar_str made;

	for (int i = 0; i < levels; i++)
		ar_buf_addz(&text, "{\"a\":");
	ar_buf_addc(&text, '1');
	for (int i = 0; i < levels; i++)
		ar_buf_addc(&text, '}');
	made = ar_arena_str(&x->arena, ar_buf_str(&text));
	ar_buf_fini(&text);
	return made;
}

static void a_schema_that_nests_deep_is_left_out(void **state)
{
	struct fixture *x = *state;

	for (int levels = 47; levels <= 62; levels++) {
		struct ar_a2a_task t = { .arena = &x->arena };
		struct ar_str fact = ar_arena_fmt(&x->arena,
						  "{\"type\":\"action.required\",\"actionId\":\"a\","
						  "\"payload\":{\"schema\":%s}}",
						  nested(x, levels).p);

		fold(x, &t, &fact.p, 1);
		assert_int_equal(t.question_count, 1);
		assert_int_equal(ar_str_absent(t.questions[0].schema), levels > 48);
	}
}

/* A task is a document of its own, and readers have a limit. */
static void what_nests_deep_is_text(void **state)
{
	static const char *const fact =
		"{\"type\":\"task.attempt.completed\",\"sequence\":2,\"payload\":{\"outputRefs\":[\"r\"]}}";
	struct fixture *x = *state;

	for (int levels = 1; levels <= 64; levels++) {
		struct ar_a2a_task t = { .arena = &x->arena };
		struct ar_buf task = { 0 }, output = { 0 };
		struct ar_jw w = ar_jw(&output), out = ar_jw(&task);
		struct ar_json doc;

		fold(x, &t, &fact, 1);
		ar_jw_open(&w);
		ar_jw_mstr(&w, "content", nested(x, levels));
		ar_jw_close(&w);
		assert_int_equal(ar_json_parse(x->parser, ar_buf_str(&output), &doc, NULL), AR_OK);
		ar_a2a_take_output(&t, ar_a2a_unread(&t), doc);
		assert_int_equal(t.artifacts[0].is_data, levels <= 48);
		ar_a2a_write_task(&out, &t, -1, true, AR_STR_NONE);
		assert_int_equal(ar_json_parse(x->parser, ar_buf_str(&task), &doc, NULL), AR_OK);
		ar_a2a_task_fini(&t);
		ar_buf_fini(&task);
		ar_buf_fini(&output);
		assert_true(reads(x, ar_arena_fmt(&x->arena, MESSAGE("[{\"data\":%s}]"),
						  levels < 60 ? nested(x, levels).p : "1")
					     .p));
		assert_int_equal(ar_str_absent(x->send.kept), levels > 30 && levels < 60);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(parts_become_an_input, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(what_is_wrong_is_named, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(an_answer_is_an_artifact_before_the_end, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(a_long_answer_has_to_be_read, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(a_file_is_shown_by_its_bytes_only_if_all_are_there,
						open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(files_share_their_room, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(an_old_version_leaves_no_memory, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(a_comment_is_shown_to_who_made_it, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(what_nests_deep_is_text, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(a_schema_that_nests_deep_is_left_out, open_fixture,
						close_fixture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
