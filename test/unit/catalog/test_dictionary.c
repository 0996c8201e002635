/* The compression dictionary holds tables that zstd takes, and after them events and rows in exactly
 * the bytes that are stored. */
#include "codec_fixture.h"

#include <string.h>
#include <zstd.h>

/* What follows the tables: the first line is an event. */
static struct ar_str lines(void)
{
	static const char first[] = "{\"type\":";
	const char *at = memmem(ar_catalog_dictionary, ar_catalog_dictionary_len, first, sizeof(first) - 1);

	assert_non_null(at);
	return (struct ar_str){ at, ar_catalog_dictionary_len - (size_t)(at - ar_catalog_dictionary) };
}

static void test_every_event_is_what_the_encoder_writes(void **state)
{
	struct fixture *f = *state;
	struct ar_str rest = lines(), line;
	size_t events = 0, others = 0;

	while (!ar_str_empty(rest)) {
		struct ar_event e;
		struct ar_json v;

		rest = ar_str_split(rest, '\n', &line);
		v = parse(f, line);
		if (!ar_str_starts(line, AR_STR("{\"type\":"))) {
			others++;
			continue;
		}
		if (ar_event_decode(v, &f->arena, &e, &f->err) || ar_event_validate(&e, &f->err))
			fail_msg("%.*s: %s", AR_STR_ARG(line), f->err.msg);
		assert_str_is(encoded_event(f, &e), line);
		events++;
	}
	assert_true(events >= 40);
	assert_int_equal(others, 5); /* a snapshot, an answer, two requests, a task */
	assert_true(ar_catalog_dictionary_len <= 40 * 1024);
}

/* With them a value names the dictionary, so that no other one unpacks it. */
static void test_the_tables_are_known_to_zstd(void **state)
{
	(void)state;
	assert_int_equal(ZSTD_getDictID_fromDict(ar_catalog_dictionary, ar_catalog_dictionary_len),
			 AR_CATALOG_DICTIONARY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		codec_test(test_every_event_is_what_the_encoder_writes),
		codec_test(test_the_tables_are_known_to_zstd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
