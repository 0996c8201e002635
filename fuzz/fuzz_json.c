/* Fuzz target: whatever parses must print to a text that parses again and prints the same. Guards the
 * strict reader, the writer's escapes and the number texts at once. */
#include "json.h"

static struct ar_json_parser *parser;
static struct ar_buf first, second;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc AR_UNUSED, char ***argv AR_UNUSED)
{
	parser = ar_json_parser_new();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_json v;

	if (ar_json_parse(parser, (struct ar_str){ (const char *)bytes, len }, &v, NULL))
		return 0;
	AR_ASSERT(ar_str_is_utf8((struct ar_str){ (const char *)bytes, len }));
	ar_buf_clear(&first);
	ar_buf_clear(&second);
	ar_json_print(v, &first);
	AR_ASSERT(ar_json_parse(parser, ar_buf_str(&first), &v, NULL) == AR_OK);
	ar_json_print(v, &second);
	AR_ASSERT(ar_str_eq(ar_buf_str(&first), ar_buf_str(&second)));
	return 0;
}
