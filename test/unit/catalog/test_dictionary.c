/* The compression dictionary holds events in exactly the bytes that the encoder writes. */
#include "codec_fixture.h"

static void test_every_line_is_what_the_encoder_writes(void **state)
{
	struct fixture *f = *state;
	struct ar_str rest = { ar_catalog_dictionary, ar_catalog_dictionary_len }, line;
	size_t count = 0;

	for (; !ar_str_empty(rest); count++) {
		struct ar_event e;

		rest = ar_str_split(rest, '\n', &line);
		if (ar_event_decode(parse(f, line), &f->arena, &e, &f->err) || ar_event_validate(&e, &f->err))
			fail_msg("%.*s: %s", AR_STR_ARG(line), f->err.msg);
		assert_str_is(encoded_event(f, &e), line);
	}
	assert_true(count >= 15);
	assert_true(ar_catalog_dictionary_len <= 24 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		codec_test(test_every_line_is_what_the_encoder_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
