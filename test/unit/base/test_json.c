/* Reading JSON: what is refused, what values come out, walking, printing back. */
#include "unit.h"
#include "json.h"

struct fixture {
	struct ar_json_parser *parser;
	struct ar_buf buf;
	struct ar_error err;
};

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .parser = ar_json_parser_new() };
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	ar_json_parser_free(f->parser);
	ar_buf_fini(&f->buf);
	return 0;
}

static struct ar_json parse(struct fixture *f, const char *text)
{
	struct ar_json v;

	if (ar_json_parse(f->parser, ar_str_from(text), &v, &f->err))
		fail_msg("%s: %s", text, f->err.msg);
	return v;
}

#define CASE(literal, status) \
	{ \
		{ literal, sizeof(literal) - 1 }, status \
	}

static const struct {
	struct ar_str text;
	enum ar_status want;
} strictness[] = {
	CASE("null", AR_OK),
	CASE(" [1, 2] \n", AR_OK),
	CASE("\"a\\u0000b\"", AR_OK),
	CASE("\"\\ud83d\\ude00\"", AR_OK),
	CASE("9007199254740993", AR_OK),
	CASE("18446744073709551615", AR_OK),
	CASE("1e308", AR_OK),
	CASE("{\"a\":{\"a\":1},\"b\":{\"a\":1}}", AR_OK),
	CASE("[{\"a\":1},{\"a\":2}]", AR_OK),
	CASE("", AR_E_INVALID),
	CASE("  ", AR_E_INVALID),
	CASE("\"\x80\"", AR_E_INVALID),
	CASE("\"\xC0\xAF\"", AR_E_INVALID),
	CASE("\"\xED\xA0\x80\"", AR_E_INVALID),
	CASE("\"\xF4\x90\x80\x80\"", AR_E_INVALID),
	CASE("\"\\ud800\"", AR_E_INVALID),
	CASE("\"\\x\"", AR_E_INVALID),
	CASE("\"a\nb\"", AR_E_INVALID),
	CASE("\"a\0b\"", AR_E_INVALID),
	CASE("\"open", AR_E_INVALID),
	CASE("123456789012345678901234567890", AR_E_INVALID),
	CASE("18446744073709551616", AR_E_INVALID),
	CASE("1e400", AR_E_INVALID),
	CASE("NaN", AR_E_INVALID),
	CASE("Infinity", AR_E_INVALID),
	CASE("01", AR_E_INVALID),
	CASE("-", AR_E_INVALID),
	CASE("1.", AR_E_INVALID),
	CASE(".5", AR_E_INVALID),
	CASE("+1", AR_E_INVALID),
	CASE("0x10", AR_E_INVALID),
	CASE("tru", AR_E_INVALID),
	CASE("[1,]", AR_E_INVALID),
	CASE("{\"a\":1,}", AR_E_INVALID),
	CASE("{a:1}", AR_E_INVALID),
	CASE("{'a':1}", AR_E_INVALID),
	CASE("[1}", AR_E_INVALID),
	CASE("[1", AR_E_INVALID),
	CASE("[1] x", AR_E_INVALID),
	CASE("1 2", AR_E_INVALID),
	CASE("[1]\0", AR_E_INVALID),
	CASE("/**/1", AR_E_INVALID),
	CASE("{\"a\":1,\"a\":1}", AR_E_INVALID),
	CASE("{\"a\":1,\"b\":[{}],\"\\u0061\":1}", AR_E_INVALID),
	CASE("[0,{\"x\":[{\"k\":{},\"k\":[]}]}]", AR_E_INVALID),
};

static void test_strictness(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(strictness); i++) {
		struct ar_json v = { f, 9 };
		enum ar_status got = ar_json_parse(f->parser, strictness[i].text, &v, &f->err);

		if (got != strictness[i].want)
			fail_msg("%.*s: status %s", AR_STR_ARG(strictness[i].text), ar_status_name(got));
		assert_int_equal(ar_json_type(v) == AR_JSON_NONE, got != AR_OK);
	}
}

static enum ar_status parse_nested(struct fixture *f, size_t depth, const char *open, const char *core,
				   char close)
{
	struct ar_json v;

	ar_buf_clear(&f->buf);
	for (size_t i = 0; i < depth; i++)
		ar_buf_addz(&f->buf, open);
	ar_buf_addz(&f->buf, core);
	for (size_t i = 0; i < depth; i++)
		ar_buf_addc(&f->buf, close);
	return ar_json_parse(f->parser, ar_buf_str(&f->buf), &v, &f->err);
}

static void test_depth(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(parse_nested(f, 64, "[", "", ']'), AR_OK);
	assert_int_equal(parse_nested(f, 65, "[", "", ']'), AR_E_LIMIT);
	assert_int_equal(parse_nested(f, 64, "[", "1", ']'), AR_OK);
	assert_int_equal(parse_nested(f, 65, "[", "1", ']'), AR_E_LIMIT);
	assert_int_equal(parse_nested(f, 5000, "[", "", ']'), AR_E_LIMIT);
	assert_int_equal(parse_nested(f, 63, "{\"k\":", "{}", '}'), AR_OK);
	assert_int_equal(parse_nested(f, 64, "{\"k\":", "{}", '}'), AR_E_LIMIT);
	assert_int_equal(parse_nested(f, 64, "{\"k\":", "1", '}'), AR_OK);
	assert_int_equal(parse_nested(f, 65, "{\"k\":", "1", '}'), AR_E_LIMIT);
}

/* Across the border between comparing pairs and sorting; the first and the last name repeat. */
static void test_duplicates_in_objects_of_any_size(void **state)
{
	struct fixture *f = *state;
	struct ar_json v;

	for (int members = 2; members <= 300; members += members < 20 ? 1 : 70) {
		for (int twice = 0; twice < 2; twice++) {
			ar_buf_clear(&f->buf);
			ar_buf_addz(&f->buf, "{\"first\":1");
			for (int i = 2; i < members; i++)
				ar_buf_addf(&f->buf, ",\"k%d\":[%d]", i, i);
			ar_buf_addf(&f->buf, ",\"%s\":2}", twice ? "first" : "last!");
			assert_int_equal(ar_json_parse(f->parser, ar_buf_str(&f->buf), &v, &f->err),
					 twice ? AR_E_INVALID : AR_OK);
			if (twice)
				assert_non_null(strstr(f->err.msg, "first"));
		}
	}
}

static void test_size_cap(void **state)
{
	struct fixture *f = *state;
	size_t len = (64u << 20) + 1;
	char *room = ar_buf_room(&f->buf, len);
	struct ar_json v;

	memset(room, ' ', len);
	room[0] = '7';
	assert_int_equal(ar_json_parse(f->parser, (struct ar_str){ room, len }, &v, &f->err), AR_E_LIMIT);
	assert_int_equal(ar_json_parse(f->parser, (struct ar_str){ room, len - 1 }, &v, &f->err), AR_OK);
	assert_int_equal(ar_json_parse(f->parser, AR_STR("[[1]]"), &v, &f->err), AR_OK);
	assert_int_equal(parse_nested(f, 65, "[", "1", ']'),
			 AR_E_LIMIT); /* the limit survives the giving back */
}

/* Its values hold until the next parse or the giving back, whatever its size. */
static void test_large_document(void **state)
{
	struct fixture *f = *state;
	struct ar_json v;
	struct ar_str s;

	ar_buf_addz(&f->buf, "{\"k\":\"");
	memset(ar_buf_room(&f->buf, 600000), 'x', 600000);
	f->buf.len += 600000;
	ar_buf_addz(&f->buf, "\"}");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ar_json_parse(f->parser, ar_buf_str(&f->buf), &v, &f->err), AR_OK);
		assert_true(ar_json_str(ar_json_get(v, "k"), &s));
		assert_int_equal(s.len, 600000);
		assert_int_equal(s.p[599999], 'x');
		ar_json_parser_trim(f->parser);
		assert_true(ar_json_i64(parse(f, "7"), &(int64_t){ 0 }));
		ar_json_parser_trim(f->parser);
	}
	assert_int_equal(parse_nested(f, 65, "[", "1", ']'), AR_E_LIMIT);
}

static void test_values(void **state)
{
	struct fixture *f = *state;
	struct ar_json v =
		parse(f, "{\"i\":-5,\"u\":18446744073709551615,\"d\":0.5,\"s\":\"x\\n\",\"t\":true,"
			 "\"n\":null,\"a\":[1,[2],{\"z\":3}],\"big\":9007199254740993}");
	struct ar_str s = AR_STR("keep");
	int64_t i = 77;
	double d = 7.5;
	bool b = false;

	assert_true(ar_json_i64(ar_json_get(v, "i"), &i) && i == -5);
	assert_true(ar_json_i64(ar_json_get(v, "big"), &i) && i == 9007199254740993);
	assert_int_equal(ar_json_type(ar_json_get(v, "u")), AR_JSON_NUM);
	assert_false(ar_json_i64(ar_json_get(v, "u"), &i));
	assert_false(ar_json_i64(ar_json_get(v, "d"), &i));
	assert_true(i == 9007199254740993);
	assert_true(ar_json_num(ar_json_get(v, "u"), &d) && d == 18446744073709551615.0);
	assert_true(ar_json_num(ar_json_get(v, "d"), &d) && d == 0.5);
	assert_true(ar_json_num(ar_json_get(v, "i"), &d) && d == -5.0);
	assert_false(ar_json_str(ar_json_get(v, "i"), &s));
	assert_str(s, "keep");
	assert_true(ar_json_str(ar_json_get(v, "s"), &s));
	assert_str(s, "x\n");
	assert_true(ar_json_bool(ar_json_get(v, "t"), &b) && b);
	assert_false(ar_json_bool(ar_json_get(v, "n"), &b));
	assert_int_equal(ar_json_type(ar_json_get(v, "n")), AR_JSON_NULL);
	assert_int_equal(ar_json_len(v), 8);
	assert_int_equal(ar_json_len(ar_json_get(v, "a")), 3);
	assert_true(ar_json_i64(ar_json_get(ar_json_at(ar_json_get(v, "a"), 2), "z"), &i) && i == 3);
}

static void test_absent(void **state)
{
	struct fixture *f = *state;
	struct ar_json v = parse(f, "{\"a\":[1]}"), none = { 0 };
	struct ar_json_iter it = ar_json_iter(none);
	double d;

	assert_int_equal(ar_json_type(ar_json_get(v, "b")), AR_JSON_NONE);
	assert_int_equal(ar_json_type(ar_json_get(ar_json_get(v, "a"), "a")), AR_JSON_NONE);
	assert_int_equal(ar_json_type(ar_json_at(v, 0)), AR_JSON_NONE);
	assert_int_equal(ar_json_type(ar_json_at(ar_json_get(v, "a"), 1)), AR_JSON_NONE);
	assert_int_equal(ar_json_len(none), 0);
	assert_false(ar_json_num(none, &d));
	assert_false(ar_json_next(&it));
	it = ar_json_iter(ar_json_at(ar_json_get(v, "a"), 0));
	assert_false(ar_json_next(&it));
}

static void test_walk(void **state)
{
	struct fixture *f = *state;
	int64_t n, sum = 0;

	for (struct ar_json_iter it = ar_json_iter(parse(f, "{\"a\":1,\"\":2,\"c\\u0000d\":{\"x\":[]}}"));
	     ar_json_next(&it);) {
		ar_buf_adds(&f->buf, it.name);
		ar_buf_addc(&f->buf, ';');
		if (ar_json_i64(it.value, &n))
			sum += n;
	}
	assert_int_equal(sum, 3);
	assert_true(ar_str_eq(ar_buf_str(&f->buf), AR_STR("a;;c\0d;")));
	sum = 0;
	for (struct ar_json_iter it = ar_json_iter(parse(f, "[1,[9,9],4,{}]")); ar_json_next(&it);) {
		assert_true(ar_str_absent(it.name));
		if (ar_json_i64(it.value, &n))
			sum += n;
	}
	assert_int_equal(sum, 5);
}

/* A string value that holds JSON is parsed with the same parser: its bytes are taken before the old
 * document goes. */
static void test_parse_of_own_string(void **state)
{
	struct fixture *f = *state;
	struct ar_json v = parse(f, "{\"arguments\":\"{\\\"path\\\":\\\"/etc\\\"}\"}");
	struct ar_str s;

	assert_true(ar_json_str(ar_json_get(v, "arguments"), &s));
	assert_int_equal(ar_json_parse(f->parser, s, &v, &f->err), AR_OK);
	assert_true(ar_json_str(ar_json_get(v, "path"), &s));
	assert_str(s, "/etc");
}

static const struct {
	const char *text, *printed;
} prints[] = {
	{ " { \"b\" : 1 , \"a\" : [ ] } ", "{\"b\":1,\"a\":[]}" },
	{ "[true,false,null,{},[[]]]", "[true,false,null,{},[[]]]" },
	{ "9007199254740993", "9007199254740993" },
	{ "18446744073709551615", "18446744073709551615" },
	{ "-9223372036854775808", "-9223372036854775808" },
	{ "[0.1,1.0,-0.0,1e6,2.5e-3]", "[0.1,1.0,-0.0,1000000.0,0.0025]" },
	{ "[1e20,1e-7,1.7976931348623157e308,5e-324]", "[1e+20,1e-07,1.7976931348623157e+308,5e-324]" },
	{ "0.30000000000000004", "0.30000000000000004" },
	{ "\"\\u00e9\\/\\ud83d\\ude00\\u0000\\u001f\\t\"", "\"\xC3\xA9/\xF0\x9F\x98\x80\\u0000\\u001f\\t\"" },
	{ "{\"a\\u0000\\\"\":1}", "{\"a\\u0000\\\"\":1}" },
};

static void test_print(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(prints); i++) {
		ar_buf_clear(&f->buf);
		ar_json_print(parse(f, prints[i].text), &f->buf);
		assert_str(ar_buf_str(&f->buf), prints[i].printed);
		ar_buf_addc(&f->buf, '\0');
		ar_json_print(parse(f, f->buf.p), &f->buf);
		assert_str(ar_str_sub(ar_buf_str(&f->buf), strlen(prints[i].printed) + 1, SIZE_MAX),
			   prints[i].printed);
	}
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(test_strictness),
		WITH_FIXTURE(test_depth),
		WITH_FIXTURE(test_duplicates_in_objects_of_any_size),
		WITH_FIXTURE(test_size_cap),
		WITH_FIXTURE(test_large_document),
		WITH_FIXTURE(test_values),
		WITH_FIXTURE(test_absent),
		WITH_FIXTURE(test_walk),
		WITH_FIXTURE(test_parse_of_own_string),
		WITH_FIXTURE(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
