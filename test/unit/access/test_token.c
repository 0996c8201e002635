/* One token: its text, its secrets over rotations, its record. */
#include "cmocka_unit.h"
#include "mem.h"
#include "token.h"

#include <string.h>

#define NOW ((ar_usec)1800000000 * 1000000)
#define HOUR ((ar_usec)3600 * 1000000)

static struct ar_token *a_token(char text[AR_TOKEN_TEXT + 1])
{
	struct ar_token *t = ar_token_new(AR_STR("acme"), AR_STR("ci \"x\""));

	ar_token_draw_id(t);
	t->rights = AR_RIGHT_READ | AR_RIGHT_DECIDE;
	t->created = NOW;
	ar_token_renew(t, 0, text);
	return t;
}

static bool opens(const struct ar_token *t, const char *text, ar_usec now)
{
	struct ar_str id, secret;

	assert_true(ar_token_parse(ar_str_from(text), &id, &secret));
	assert_memory_equal(id.p, t->id + 4, AR_TOKEN_ID);
	return ar_token_match(t, secret, now) != NULL;
}

static void test_text(void **state AR_UNUSED)
{
	char text[AR_TOKEN_TEXT + 1], other[AR_TOKEN_TEXT + 1];
	struct ar_token *t = a_token(text), *u = a_token(other);
	struct ar_str id, secret;

	assert_string_not_equal(text, other);
	assert_true(opens(t, text, NOW));
	assert_true(ar_token_parse(ar_str_from(other), &id, &secret));
	assert_null(ar_token_match(t, secret, NOW));
	assert_null(ar_token_match(NULL, secret, NOW));
	assert_false(ar_token_parse(ar_str_sub(ar_str_from(text), 0, AR_TOKEN_TEXT - 1), &id, &secret));
	text[4] = 'A';
	assert_false(ar_token_parse(ar_str_from(text), &id, &secret));
	ar_token_free(t);
	ar_token_free(u);
}

/* A secret of zeros is no way into an empty slot. */
static void test_no_secret_opens_nothing(void **state AR_UNUSED)
{
	struct ar_token *t = ar_token_new(AR_STR("acme"), AR_STR("x"));

	assert_null(ar_token_match(t, AR_STR(""), NOW));
	ar_token_free(t);
}

static void test_rotation(void **state AR_UNUSED)
{
	char text[6][AR_TOKEN_TEXT + 1];
	struct ar_token *t = a_token(text[0]);

	ar_token_renew(t, NOW + HOUR, text[1]);
	assert_true(opens(t, text[0], NOW) && opens(t, text[1], NOW));
	assert_false(opens(t, text[0], NOW + HOUR));
	assert_true(opens(t, text[1], NOW + HOUR));
	/* A second rotation never lengthens what the first one set, and keeps what was in use. */
	ar_token_renew(t, NOW + 2 * HOUR, text[2]);
	assert_true(opens(t, text[0], NOW));
	assert_false(opens(t, text[0], NOW + HOUR));
	assert_true(opens(t, text[1], NOW + HOUR));
	for (size_t i = 3; i < 6; i++)
		ar_token_renew(t, NOW + 3 * HOUR, text[i]);
	assert_int_equal(t->secret_count, AR_TOKEN_SECRETS);
	assert_true(opens(t, text[5], NOW) && opens(t, text[4], NOW));
	assert_false(opens(t, text[0], NOW));
	ar_token_renew(t, NOW, text[0]);
	for (size_t i = 1; i < 6; i++)
		assert_false(opens(t, text[i], NOW));
	assert_true(opens(t, text[0], NOW));
	ar_token_free(t);
}

static void test_record(void **state AR_UNUSED)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	char text[AR_TOKEN_TEXT + 1];
	struct ar_token *t = a_token(text), *u;
	struct ar_buf record = { 0 };

	t->expires = NOW + HOUR;
	t->used = NOW + 1;
	ar_token_write(t, &record);
	assert_null(memmem(record.p, record.len, text + 4 + AR_TOKEN_ID + 1, 8)); /* the secret */
	u = ar_token_read(parser, ar_str_from(t->id), ar_buf_str(&record));
	assert_non_null(u);
	assert_string_equal(u->tenant, "acme");
	assert_string_equal(u->name, "ci \"x\"");
	assert_int_equal(u->rights, t->rights);
	assert_int_equal(u->expires, t->expires);
	assert_int_equal(u->used, t->used);
	assert_true(opens(u, text, NOW));
	assert_true(ar_token_is_live(u, NOW));
	assert_false(ar_token_is_live(u, NOW + HOUR));
	assert_null(ar_token_read(parser, ar_str_from(t->id), AR_STR("{}")));
	assert_null(ar_token_read(parser, AR_STR("tok_short"), ar_buf_str(&record)));
	ar_token_free(t);
	ar_token_free(u);
	ar_buf_fini(&record);
	ar_json_parser_free(parser);
}

static void test_derived_ids(void **state AR_UNUSED)
{
	struct ar_token *a = ar_token_new(AR_STR("acme"), AR_STR("x")),
			*b = ar_token_new(AR_STR("other"), AR_STR("x"));
	char first[sizeof(a->id)];

	ar_token_derive_id(a, AR_STR("k"));
	memcpy(first, a->id, sizeof(first));
	ar_token_derive_id(b, AR_STR("k"));
	assert_string_not_equal(a->id, b->id);
	ar_token_derive_id(a, AR_STR("k2"));
	assert_string_not_equal(a->id, first);
	ar_token_derive_id(a, AR_STR("k"));
	assert_string_equal(a->id, first);
	ar_token_free(a);
	ar_token_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	    cmocka_unit_test(test_no_secret_opens_nothing),
		cmocka_unit_test(test_rotation),    cmocka_unit_test(test_record),
		cmocka_unit_test(test_derived_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
