/* Fuzz target: a schema, a NUL, a value. Whatever compiles gives the same verdict twice, a refusal comes with
 * a sentence and a pointer in UTF-8, and no check runs past its bounds. */
#include "schema.h"

#include <string.h>

static struct ar_json_parser *schema_parser, *value_parser;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc AR_UNUSED, char ***argv AR_UNUSED)
{
	schema_parser = ar_json_parser_new();
	value_parser = ar_json_parser_new();
	return 0;
}

static void check(const struct ar_schema *s, struct ar_json v)
{
	struct ar_schema_fault fault;
	bool is_valid = ar_schema_check(s, v, NULL, &fault);

	AR_ASSERT(ar_schema_check(s, v, NULL, NULL) == is_valid);
	if (is_valid)
		return;
	AR_ASSERT(fault.message[0] != '\0');
	AR_ASSERT(ar_str_is_utf8(ar_str_from(fault.message)) && ar_str_is_utf8(ar_str_from(fault.pointer)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_str text = { (const char *)bytes, len }, schema_text, value_text;
	struct ar_schema *s = NULL;
	struct ar_json v;

	value_text = ar_str_split(text, '\0', &schema_text);
	if (ar_str_absent(value_text) || ar_schema_compile(schema_text, schema_parser, NULL, &s, NULL))
		return 0;
	/* The schema must not need the document it was read from. */
	if (!ar_json_parse(schema_parser, AR_STR("null"), &v, NULL) &&
	    !ar_json_parse(value_parser, value_text, &v, NULL))
		check(s, v);
	ar_schema_free(s);
	return 0;
}
