/* Answers of agent-files as results: what a right one could not say is not believed. */
#include "outcome.h"

#include "unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define COUNTS "\"files\":3,\"bytes\":40,\"leftOut\":1"

static struct ar_json_parser *parser;
static struct ar_arena arena;

static struct ar_checkpoint_result read_answer(enum ar_checkpoint_kind kind, const char *output)
{
	struct ar_contained_end end = { .outcome = AR_CONTAINED_EXITED, .output = ar_str_from(output) };
	struct ar_checkpoint_result r;

	ar_checkpoint_outcome_read(kind, &end, parser, &arena, &r);
	assert_true(r.status == AR_OK || r.message.len > 0);
	return r;
}

static void test_right_answers(void **state)
{
	(void)state;
	struct ar_checkpoint_result r =
		read_answer(AR_CHECKPOINT_SAVE,
			    "{\"outcome\":1,\"checkpoint\":{\"id\":\"" ID "\"," COUNTS "}}");

	assert_int_equal(r.status, AR_OK);
	assert_str(r.id, ID);
	assert_true(r.files == 3 && r.bytes == 40 && r.left_out == 1);
	r = read_answer(AR_CHECKPOINT_DIFF,
			"{\"outcome\":1,\"changes\":[{\"path\":\"a\",\"change\":\"added\",\"x\":1}],"
			"\"checkpoint\":{" COUNTS ",\"diff\":\"+a\",\"isCut\":true}}");
	assert_int_equal(r.status, AR_OK);
	assert_str(r.changes, "[{\"path\":\"a\",\"change\":\"added\"}]");
	assert_str(r.diff, "+a");
	assert_true(r.is_cut);
	r = read_answer(AR_CHECKPOINT_RESTORE, "{\"outcome\":2,\"category\":\"incomplete\",\"message\":\"m\","
					       "\"advice\":\"a\",\"changes\":[],"
					       "\"checkpoint\":{\"id\":\"" ID "\"," COUNTS "}}");
	assert_int_equal(r.status, AR_E_IO);
	assert_str(r.id, ID);
	assert_str(r.message, "m a");
	r = read_answer(AR_CHECKPOINT_FORGET, "{\"outcome\":1,\"checkpoint\":{" COUNTS "}}");
	assert_int_equal(r.status, AR_OK);
}

static void test_failures_have_a_status(void **state)
{
	(void)state;
	static const struct {
		const char *category;
		enum ar_status status;
	} rows[] = { { "unavailable", AR_E_UNAVAILABLE },
		     { "too_large", AR_E_LIMIT },
		     { "not_found", AR_E_NOT_FOUND },
		     { "timeout", AR_E_TIMEOUT },
		     { "no_space", AR_E_IO },
		     { "", AR_E_IO } };

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		char text[128];

		snprintf(text, sizeof(text), "{\"outcome\":2,\"category\":\"%s\"}", rows[i].category);
		assert_int_equal(read_answer(AR_CHECKPOINT_SAVE, text).status, rows[i].status);
	}
}

static void test_wrong_answers(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		"",
		"[]",
		"{\"outcome\":\"1\"}",
		"{\"outcome\":1}",
		"{\"outcome\":1,\"checkpoint\":{\"id\":\"" ID "\"}}",
		"{\"outcome\":1,\"changes\":[],\"checkpoint\":{\"id\":\"../" ID "\"," COUNTS "}}",
		"{\"outcome\":1,\"changes\":[],\"checkpoint\":{\"id\":\"\"," COUNTS "}}",
		"{\"outcome\":1,\"changes\":[],\"checkpoint\":{\"id\":\"" ID "0\"," COUNTS "}}",
		"{\"outcome\":1,\"changes\":[],\"checkpoint\":{\"id\":\"" ID
		"\",\"files\":-1,\"bytes\":0,\"leftOut\":0}}",
		"{\"outcome\":1,\"changes\":[{\"path\":\"a\",\"change\":\"x\"}],\"checkpoint\":{\"id\":\"" ID
		"\"," COUNTS "}}",
		"{\"outcome\":1,\"changes\":[{\"change\":\"added\"}],\"checkpoint\":{\"id\":\"" ID
		"\"," COUNTS "}}",
		"{\"outcome\":1,\"changes\":{},\"checkpoint\":{\"id\":\"" ID "\"," COUNTS "}}",
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(wrong); i++) {
		struct ar_checkpoint_result r = read_answer(AR_CHECKPOINT_RESTORE, wrong[i]);

		assert_int_equal(r.status, AR_E_IO);
		assert_true(ar_str_absent(r.id) && ar_str_absent(r.changes));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right_answers),
		cmocka_unit_test(test_failures_have_a_status),
		cmocka_unit_test(test_wrong_answers),
	};

	parser = ar_json_parser_new();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
