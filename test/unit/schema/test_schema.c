/* JSON Schema: the verdict and the sentence of every keyword, what does not compile, and
 * the bounds of a check. */
#include "cmocka_unit.h"
#include "schema.h"

#include "mem.h"

static struct ar_schema *compile(const char *text)
{
	struct ar_json_parser *p = ar_json_parser_new();
	struct ar_schema *s = NULL;
	struct ar_error err = { 0 };

	if (ar_schema_compile(ar_str_from(text), p, NULL, &s, &err))
		fail_msg("%s: %s", text, err.msg);
	ar_json_parser_free(p); /* the schema must not need it */
	return s;
}

static bool check(const struct ar_schema *s, struct ar_str text, struct ar_schema_fault *fault)
{
	struct ar_json_parser *p = ar_json_parser_new();
	struct ar_error err = { 0 };
	struct ar_json v;
	bool is_valid;

	if (ar_json_parse(p, text, &v, &err))
		fail_msg("%.*s: %s", AR_STR_ARG(text), err.msg);
	is_valid = ar_schema_check(s, v, NULL, fault);
	ar_json_parser_free(p);
	return is_valid;
}

struct row {
	const char *schema, *value;
	const char *message; /* NULL: valid */
};

static void run(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct ar_schema *s = compile(rows[i].schema);
		struct ar_schema_fault fault = { 0 };
		bool is_valid = check(s, ar_str_from(rows[i].value), &fault);

		if (is_valid != !rows[i].message)
			fail_msg("%s of %s: %s", rows[i].value, rows[i].schema,
				 is_valid ? "valid" : fault.message);
		if (!is_valid)
			assert_string_equal(fault.message, rows[i].message);
		ar_schema_free(s);
	}
}

static void test_values(void **state AR_UNUSED)
{
	static const struct row rows[] = {
		{ "true", "1", NULL },
		{ "{}", "null", NULL },
		{ "false", "1", "the value is not allowed here" },
		{ "{\"type\":\"string\"}", "1", "the value must be a string, not a number" },
		{ "{\"type\":\"integer\"}", "1.0", NULL },
		{ "{\"type\":\"integer\"}", "1.5", "the value must be an integer, not a number" },
		{ "{\"type\":\"number\"}", "1", NULL },
		{ "{\"type\":\"boolean\"}", "0", "the value must be true or false, not a number" },
		{ "{\"type\":[\"string\",\"null\"]}", "null", NULL },
		{ "{\"type\":[\"null\",\"string\"]}", "[]",
		  "the value must be a string or null, not an array" },
		{ "{\"type\":\"object\"}", "true", "the value must be an object, not a boolean" },
		{ "{\"enum\":[\"a\",\"b\"]}", "\"b\"", NULL },
		{ "{\"enum\":[\"a\",\"b\"]}", "\"c\"", "the value must be one of a, b, not c" },
		{ "{\"enum\":[1,null,true,\"\"]}", "\"\"", NULL },
		{ "{\"enum\":[1,null,true,\"\"]}", "2",
		  "the value must be one of 1, null, true, \"\", not 2" },
		{ "{\"enum\":[0]}", "false", "the value must be 0, not false" },
		{ "{\"const\":{\"a\":[1,2.0],\"b\":null}}", "{\"b\":null,\"a\":[1.0,2]}", NULL },
		{ "{\"const\":{\"a\":[1]}}", "{\"a\":[1,1]}",
		  "the value must be {\"a\":[1]}, not {\"a\":[1,1]}" },
		{ "{\"enum\":[[1],[2]]}", "[2]", NULL },
		{ "{\"const\":9007199254740993}", "9007199254740992",
		  "the value must be 9007199254740993, not 9007199254740992" },
		{ "{\"const\":9007199254740992}", "9007199254740993",
		  "the value must be 9007199254740992, not 9007199254740993" },
		{ "{\"minimum\":3}", "3", NULL },
		{ "{\"minimum\":3}", "2.5", "the value must be at least 3, not 2.5" },
		{ "{\"maximum\":9007199254740993}", "9007199254740994",
		  "the value must be at most 9007199254740993, not 9007199254740994" },
		{ "{\"exclusiveMinimum\":3}", "3", "the value must be more than 3, not 3" },
		{ "{\"exclusiveMaximum\":3}", "3.0", "the value must be less than 3, not 3" },
		{ "{\"minimum\":3,\"exclusiveMinimum\":true}", "3", "the value must be more than 3, not 3" },
		{ "{\"maximum\":3,\"exclusiveMaximum\":false}", "3", NULL },
		{ "{\"multipleOf\":0.0001}", "0.0075", NULL },
		{ "{\"multipleOf\":0.01}", "0.00751", "the value must be a multiple of 0.01, not 0.00751" },
		{ "{\"multipleOf\":2}", "7", "the value must be a multiple of 2, not 7" },
		{ "{\"minLength\":2}", "\"\xc3\xa9\"", "the value must have at least 2 characters, not 1" },
		{ "{\"maxLength\":1}", "\"\xf0\x9f\x98\x80\"", NULL },
		{ "{\"maxLength\":1}", "\"ab\"", "the value must have at most 1 characters, not 2" },
		{ "{\"maxLength\":1}", "12345", NULL },
		{ "{\"pattern\":\"^a+$\"}", "\"b\"", "the value must match the pattern ^a+$" },
		{ "{\"format\":\"uuid\",\"nullable\":true,\"x-any\":[]}", "\"no\"", NULL },
	};

	run(rows, AR_ARRAY_LEN(rows));
}

#define PERSON \
	"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"age\":{\"type\":\"integer\"," \
	"\"minimum\":0}}," \
	"\"required\":[\"name\"],\"additionalProperties\":false}"

static void test_objects(void **state AR_UNUSED)
{
	static const struct row rows[] = {
		{ PERSON, "{\"name\":\"a\",\"age\":1}", NULL },
		{ PERSON, "{\"age\":1}", "the value must have the member 'name'" },
		{ PERSON, "{\"name\":1}", "/name must be a string, not a number" },
		{ PERSON, "{\"name\":\"a\",\"age\":-1}", "/age must be at least 0, not -1" },
		{ PERSON, "{\"name\":\"a\",\"foo\":1}", "unknown member /foo; allowed: age, name" },
		{ "{\"additionalProperties\":{\"type\":\"null\"}}", "{\"a/b~\":1}",
		  "/a~1b~0 must be null, not a number" },
		{ "{\"patternProperties\":{\"^x\":{\"type\":\"string\"}},\"additionalProperties\":false}",
		  "{\"x1\":\"\"}", NULL },
		{ "{\"patternProperties\":{\"^x\":{\"type\":\"string\"}},\"additionalProperties\":false}",
		  "{\"y\":1}", "unknown member /y (and names of certain patterns)" },
		{ "{\"propertyNames\":{\"pattern\":\"^[a-z]+$\"}}", "{\"ab\":1}", NULL },
		{ "{\"propertyNames\":{\"maxLength\":3}}", "{\"long\":1}",
		  "the value must not have a member named 'long'" },
		{ "{\"propertyNames\":{\"enum\":[\"a\"]}}", "{\"a\":1}", NULL },
		{ "{\"minProperties\":1}", "{}", "the value must have at least 1 members, not 0" },
		{ "{\"maxProperties\":1}", "{\"a\":1,\"b\":1}",
		  "the value must have at most 1 members, not 2" },
		{ "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"c\":1}", NULL },
		{ "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
		  "the value must have the member 'b' because it has 'a'" },
		{ "{\"dependencies\":{\"a\":[\"b\"],\"c\":{\"required\":[\"d\"]}}}", "{\"a\":1}",
		  "the value must have the member 'b' because it has 'a'" },
		{ "{\"dependencies\":{\"a\":[\"b\"],\"c\":{\"required\":[\"d\"]}}}", "{\"c\":1}",
		  "the value must have the member 'd'" },
		{ "{\"dependentSchemas\":{\"c\":{\"maxProperties\":1}}}", "{\"c\":1,\"d\":1}",
		  "the value must have at most 1 members, not 2" },
		{ "{\"allOf\":[{\"properties\":{\"a\":true}}],\"unevaluatedProperties\":false}", "{\"a\":1}",
		  NULL },
		{ "{\"allOf\":[{\"properties\":{\"a\":true}}],\"unevaluatedProperties\":false}", "{\"b\":1}",
		  "unknown member /b" },
		{ "{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"null\"}},\"required\":[\"a\"]},{"
		  "\"properties\":{\"b\":true}}],"
		  "\"unevaluatedProperties\":false}",
		  "{\"a\":1,\"b\":1}", "unknown member /a" },
		{ "{\"properties\":{\"a\":{\"properties\":{\"b\":{\"items\":{\"type\":\"string\"}}}}}}",
		  "{\"a\":{\"b\":[\"x\",2]}}", "/a/b/1 must be a string, not a number" },
	};

	run(rows, AR_ARRAY_LEN(rows));
}

static void test_arrays(void **state AR_UNUSED)
{
	static const struct row rows[] = {
		{ "{\"items\":{\"type\":\"string\"}}", "[\"a\",1]", "/1 must be a string, not a number" },
		{ "{\"prefixItems\":[{\"type\":\"string\"}],\"items\":{\"type\":\"null\"}}", "[\"a\",null]",
		  NULL },
		{ "{\"prefixItems\":[{\"type\":\"string\"}],\"items\":false}", "[\"a\",1]",
		  "the value must have at most 1 items, not 2" },
		{ "{\"items\":[{\"type\":\"string\"}],\"additionalItems\":{\"type\":\"null\"}}", "[\"a\",1]",
		  "/1 must be null, not a number" },
		{ "{\"items\":[{\"type\":\"string\"}]}", "[\"a\",1]", NULL },
		{ "{\"additionalItems\":false}", "[1]", NULL },
		{ "{\"minItems\":1}", "[]", "the value must have at least 1 items, not 0" },
		{ "{\"maxItems\":1}", "[1,2]", "the value must have at most 1 items, not 2" },
		{ "{\"uniqueItems\":true}", "[1,true,\"1\",null,[1],{\"a\":1},{\"a\":2}]", NULL },
		{ "{\"uniqueItems\":true}", "[{\"a\":1,\"b\":2},5,{\"b\":2,\"a\":1.0}]",
		  "the value must have no item twice; items 0 and 2 are equal" },
		{ "{\"uniqueItems\":true}", "[0,-0.0]",
		  "the value must have no item twice; items 0 and 1 are equal" },
		{ "{\"contains\":{\"const\":5}}", "[1,5]", NULL },
		{ "{\"contains\":{\"const\":5}}", "[1]",
		  "the value must have at least 1 items of the wanted form (contains), not 0" },
		{ "{\"contains\":{\"const\":5},\"minContains\":0}", "[]", NULL },
		{ "{\"contains\":{\"const\":5},\"maxContains\":1}", "[5,5]",
		  "the value must have at most 1 items of that form (contains), not 2" },
		{ "{\"prefixItems\":[true],\"contains\":{\"const\":5},\"unevaluatedItems\":false}", "[1,5]",
		  NULL },
		{ "{\"prefixItems\":[true],\"unevaluatedItems\":false}", "[1,5]", "/1 is not allowed here" },
	};

	run(rows, AR_ARRAY_LEN(rows));
}

#define SHAPES \
	"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"kind\":{\"const\":\"circle\"},\"r\":{\"type\":" \
	"\"number\"}}," \
	"\"required\":[\"kind\",\"r\"]},{\"type\":\"string\"}]}"

static void test_branches(void **state AR_UNUSED)
{
	static const struct row rows[] = {
		{ "{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "4",
		  "the value must be at most 3, not 4" },
		{ "{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":3}]}", "4", NULL },
		{ "{\"anyOf\":[{\"type\":\"string\"}]}", "1", "the value must be a string, not a number" },
		{ SHAPES, "{\"kind\":\"circle\",\"r\":1}", NULL },
		{ SHAPES, "{\"kind\":\"circle\",\"r\":\"1\"}",
		  "the value fits none of the 2 forms it may have; by the nearest: /r must be a number, not "
		  "a string" },
		{ "{\"oneOf\":[{\"minimum\":1},{\"maximum\":3}]}", "2",
		  "the value fits more than one of the forms of which it may have only one" },
		{ "{\"not\":{\"type\":\"string\"}}", "\"\"",
		  "the value has a form that it must not have (not)" },
		{ "{\"if\":{\"minimum\":10},\"then\":{\"multipleOf\":10},\"else\":{\"maximum\":5}}", "20",
		  NULL },
		{ "{\"if\":{\"minimum\":10},\"then\":{\"multipleOf\":10}}", "15",
		  "the value must be a multiple of 10, not 15" },
		{ "{\"if\":{\"minimum\":10},\"else\":{\"maximum\":5}}", "6",
		  "the value must be at most 5, not 6" },
		{ "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"null\"}}}", "1",
		  "the value must be null, not a number" },
		{ "{\"$ref\":\"#/$defs/a~1b%25\",\"$defs\":{\"a/b%\":{\"type\":\"null\"}}}", "null", NULL },
		{ "{\"$ref\":\"#here\",\"definitions\":{\"a\":{\"$anchor\":\"here\",\"type\":\"null\"}}}",
		  "1", "the value must be null, not a number" },
		{ "{\"$id\":\"http://x/dir/a.json\",\"$ref\":\"b.json\",\"$defs\":{\"b\":{\"$id\":\"/dir/./x/"
		  "../b.json\",\"type\":\"null\"}}}",
		  "1", "the value must be null, not a number" },
		{ "{\"properties\":{\"next\":{\"$ref\":\"#\"}},\"additionalProperties\":false}",
		  "{\"next\":{\"next\":{\"x\":1}}}", "unknown member /next/next/x; allowed: next" },
		{ "{\"$ref\":\"#/$defs/a\",\"minimum\":5,\"$defs\":{\"a\":{}}}", "1",
		  "the value must be at least 5, not 1" },
		{ "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"$ref\":\"#/definitions/"
		  "a\",\"minimum\":5,"
		  "\"definitions\":{\"a\":{}}}",
		  "1", NULL },
	};

	run(rows, AR_ARRAY_LEN(rows));
}

static void test_does_not_compile(void **state AR_UNUSED)
{
	static const struct {
		const char *schema, *message;
	} rows[] = {
		{ "1", "a schema must be an object, true or false" },
		{ "{\"type\":\"strnig\"}", "type must be null, boolean, integer, number, string, array, "
					   "object, or an array of these" },
		{ "{\"properties\":[]}", "properties must be an object" },
		{ "{\"properties\":{\"a\":1}}", "a schema must be an object, true or false" },
		{ "{\"required\":[1]}", "required must be an array of names" },
		{ "{\"minLength\":-1}", "minLength must be a whole number, not negative" },
		{ "{\"multipleOf\":0}", "multipleOf must be a number above 0" },
		{ "{\"anyOf\":[]}", "anyOf must be an array of at least one schema" },
		{ "{\"pattern\":\"(\"}", "the pattern '(' is wrong at byte 1: missing closing parenthesis" },
		{ "{\"$ref\":\"#/$defs/none\"}", "$ref '#/$defs/none' names nothing in the schema" },
		{ "{\"$ref\":\"https://example.com/a.json\"}",
		  "$ref 'https://example.com/a.json' points outside the schema, which is not supported; put "
		  "it into $defs" },
		{ "{\"$dynamicRef\":\"#a\"}", "$dynamicRef is not supported; write the schema with $ref" },
	};
	struct ar_json_parser *p = ar_json_parser_new();
	struct ar_schema *s = NULL;
	struct ar_error err;

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		assert_int_equal(ar_schema_compile(ar_str_from(rows[i].schema), p, NULL, &s, &err),
				 AR_E_INVALID);
		assert_string_equal(err.msg, rows[i].message);
	}
	/* What nothing refers to is not compiled, so it cannot be wrong. */
	ar_schema_free(compile("{\"$defs\":{\"a\":{\"pattern\":\"(\"}}}"));
	ar_json_parser_free(p);
}

static void test_too_large(void **state AR_UNUSED)
{
	struct ar_json_parser *p = ar_json_parser_new();
	struct ar_buf b = { 0 };
	struct ar_schema *s = NULL;
	struct ar_error err;

	ar_buf_addz(&b, "{\"title\":\"");
	while (b.len <= AR_SCHEMA_TEXT_MAX)
		ar_buf_addc(&b, 'x');
	ar_buf_addz(&b, "\"}");
	assert_int_equal(ar_schema_compile(ar_buf_str(&b), p, NULL, &s, &err), AR_E_LIMIT);
	ar_buf_fini(&b);
	ar_json_parser_free(p);
}

/* A pointer or a sentence that would be too long is cut, at the end of a character. */
static void test_long_places(void **state AR_UNUSED)
{
	struct ar_schema *s = compile("{\"additionalProperties\":{\"enum\":[\"a\"]}}");
	struct ar_schema_fault fault;
	struct ar_buf b = { 0 };

	ar_buf_addz(&b, "{\"");
	for (int i = 0; i < 400; i++)
		ar_buf_addz(&b, "\xc3\xa9");
	ar_buf_addz(&b, "\":\"no\"}");
	assert_false(check(s, ar_buf_str(&b), &fault));
	assert_true(ar_str_is_utf8(ar_str_from(fault.pointer)));
	assert_true(ar_str_is_utf8(ar_str_from(fault.message)));
	assert_non_null(strstr(fault.message, " must be a, not no"));
	ar_buf_fini(&b);
	ar_schema_free(s);
}

static const char too_long[] =
	"the value takes too long to check against its schema; send less, or simplify the schema";

/* References that never end, branches that double at each step, patterns that backtrack for ever, and
 * sheer size: refused, and it says so; never accepted, not even below `not`. */
static void test_bounded(void **state AR_UNUSED)
{
	static const struct row rows[] = {
		{ "{\"$ref\":\"#\"}", "1", too_long },
		{ "{\"not\":{\"$ref\":\"#\"}}", "1", too_long },
		{ "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/"
		  "b\"},\"b\":{\"anyOf\":[{\"$ref\":\"#/$defs/a\"}]}}}",
		  "1", too_long },
		{ "{\"$ref\":\"#/$defs/a0\",\"$defs\":{"
		  "\"a0\":{\"oneOf\":[{\"$ref\":\"#/$defs/a1\"},{\"$ref\":\"#/$defs/a1\"},{\"$ref\":\"#/"
		  "$defs/a1\"},{\"$ref\":\"#/$defs/a1\"}]},"
		  "\"a1\":{\"oneOf\":[{\"$ref\":\"#/$defs/a2\"},{\"$ref\":\"#/$defs/a2\"},{\"$ref\":\"#/"
		  "$defs/a2\"},{\"$ref\":\"#/$defs/a2\"}]},"
		  "\"a2\":{\"not\":{\"anyOf\":[{\"$ref\":\"#/$defs/a0\"},{\"$ref\":\"#/$defs/a0\"}]}}}}",
		  "1", too_long },
		{ "{\"pattern\":\"^(a+)+$\"}", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"",
		  too_long },
		{ "{\"not\":{\"pattern\":\"^(a+)+$\"}}",
		  "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"", too_long },
		{ "{\"patternProperties\":{\"^(a+)+$\":false}}",
		  "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\":1}", too_long },
	};

	run(rows, AR_ARRAY_LEN(rows));
}

/* `count` times `item`, as an array. */
static void add_items(struct ar_buf *b, const char *item, int count)
{
	ar_buf_clear(b);
	for (int i = 0; i < count; i++) {
		ar_buf_addc(b, i ? ',' : '[');
		ar_buf_addz(b, item);
	}
	ar_buf_addc(b, ']');
}

/* Each item is far below any limit of its own, all of them together are not: one budget
 * for the whole check. */
static void test_one_budget(void **state AR_UNUSED)
{
	static const struct {
		const char *schema, *item;
		int count;
	} rows[] = {
		{ "{\"items\":{\"not\":{\"pattern\":\"^(a+)+$\"}}}", "\"aaaaaaaaaaaaaa!\"", 1000 },
		{ "{\"items\":{\"pattern\":\"^(?:(a+)+|.*!)$\"}}", "\"aaaaaaaaaaaaaa!\"", 1000 },
		{ "{\"items\":{\"patternProperties\":{\"^(a+)+$\":false}}}", "{\"aaaaaaaaaaaaaa!\":1}",
		  1000 },
		{ "{\"items\":{\"propertyNames\":{\"not\":{\"pattern\":\"^(a+)+$\"}}}}",
		  "{\"aaaaaaaaaaaaaa!\":1}", 1000 },
		{ "{\"contains\":{\"pattern\":\"^(a+)+$\"},\"minContains\":0}", "\"aaaaaaaaaaaaaa!\"", 1000 },
	};
	struct ar_buf b = { 0 };

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_schema *s = compile(rows[i].schema);
		struct ar_schema_fault fault = { 0 };

		add_items(&b, rows[i].item, rows[i].count);
		assert_false(check(s, ar_buf_str(&b), &fault));
		assert_true(fault.gave_up);
		assert_string_equal(fault.message, too_long);
		add_items(&b, rows[i].item, 3);
		assert_true(check(s, ar_buf_str(&b), &fault));
		ar_schema_free(s);
	}
	ar_buf_fini(&b);
}

/* Schemas that are read and checked in one piece of work share the steps: what is left is told, and
 * nothing is accepted without them. */
static void test_shared_steps(void **state AR_UNUSED)
{
	struct ar_json_parser *p = ar_json_parser_new();
	struct ar_schema *s = compile("{\"items\":{\"type\":\"integer\"}}"), *none = NULL;
	struct ar_schema_fault fault = { 0 };
	struct ar_error err = { 0 };
	uint64_t steps = 50, before;
	struct ar_json v;

	assert_int_equal(ar_json_parse(p, AR_STR("[1,2,3]"), &v, &err), AR_OK);
	for (before = steps; ar_schema_check(s, v, &steps, &fault); before = steps)
		assert_true(steps < before);
	assert_true(fault.gave_up);
	assert_int_equal(steps, 0);
	assert_false(ar_schema_check(s, v, &steps, NULL));
	assert_int_equal(ar_schema_compile(AR_STR("{\"type\":\"integer\"}"), p, &steps, &none, &err),
			 AR_E_LIMIT);
	assert_non_null(strstr(err.msg, "takes too long to compile"));
	ar_schema_free(s);
	ar_json_parser_free(p);
}

/* Schemas that are small as text and dear to read: patterns that expand, addresses that
 * are compared with each other. */
static void test_dear_to_read(void **state AR_UNUSED)
{
	static const struct {
		const char *begin, *each, *end;
		int count;
	} rows[] = {
		{ "{\"allOf\":[", "{\"pattern\":\"(?:x{1,9}y){999}%d\"},", "true]}", 1500 },
		{ "{\"patternProperties\":{", "\"(?:x{1,9}y){999}%d\":true,", "\"\":true}}", 1500 },
		{ "{\"$id\":\"h:/LONG/\",\"$defs\":{", "\"d%1$d\":{\"$id\":\"%1$d\"},", "\"\":true}}", 1300 },
	};
	struct ar_json_parser *p = ar_json_parser_new();

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		const char *mark = strstr(rows[i].begin, "LONG");
		struct ar_schema *s = NULL;
		struct ar_error err = { 0 };
		struct ar_buf b = { 0 };

		ar_buf_add(&b, rows[i].begin, mark ? (size_t)(mark - rows[i].begin) : strlen(rows[i].begin));
		while (mark && b.len < 30000)
			ar_buf_addc(&b, 'x');
		ar_buf_addz(&b, mark ? mark + 4 : "");
		for (int n = 0; n < rows[i].count; n++)
			ar_buf_addf(&b, rows[i].each, n);
		ar_buf_addz(&b, rows[i].end);
		assert_true(b.len < AR_SCHEMA_TEXT_MAX);
		assert_int_equal(ar_schema_compile(ar_buf_str(&b), p, NULL, &s, &err), AR_E_LIMIT);
		assert_non_null(strstr(err.msg, "takes too long to compile"));
		ar_buf_fini(&b);
	}
	ar_json_parser_free(p);
}

static void test_large_values(void **state AR_UNUSED)
{
	struct ar_schema *s = compile("{\"items\":{\"type\":\"integer\"},\"uniqueItems\":true}");
	struct ar_schema_fault fault;
	struct ar_buf b = { 0 };

	ar_buf_addc(&b, '[');
	for (int i = 0; i < 20000; i++)
		ar_buf_addf(&b, "%d,", i);
	ar_buf_addz(&b, "7]");
	assert_false(check(s, ar_buf_str(&b), &fault));
	assert_string_equal(fault.message, "the value must have no item twice; items 7 and 20000 are equal");
	ar_buf_clear(&b);
	ar_buf_addc(&b, '[');
	for (int i = 0; i < 600000; i++)
		ar_buf_addf(&b, "%d,", i);
	ar_buf_addz(&b, "-1]");
	assert_false(check(s, ar_buf_str(&b), &fault));
	assert_string_equal(fault.message, too_long);
	ar_buf_fini(&b);
	ar_schema_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),		 cmocka_unit_test(test_objects),
		cmocka_unit_test(test_arrays),		 cmocka_unit_test(test_branches),
		cmocka_unit_test(test_does_not_compile), cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_long_places),	 cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_large_values),	 cmocka_unit_test(test_one_budget),
		cmocka_unit_test(test_shared_steps),	 cmocka_unit_test(test_dear_to_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
