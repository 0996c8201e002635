/* Fuzz target: an event that decodes must encode to a text that decodes to the same event, and validation
 * must bear whatever decoding lets through. */
#include "codec.h"

static struct ar_json_parser *parser;
static struct ar_buf first, second;
static struct ar_arena arena;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc AR_UNUSED, char ***argv AR_UNUSED)
{
	parser = ar_json_parser_new();
	return 0;
}

static bool recode(struct ar_str text, struct ar_buf *out)
{
	struct ar_error err = { 0 };
	struct ar_event e;
	struct ar_json v;

	if (ar_json_parse(parser, text, &v, NULL) || ar_event_decode(v, &arena, &e, &err))
		return false;
	if (ar_event_validate(&e, &err))
		AR_ASSERT(err.code == AR_ERR_INVALID_INPUT && err.msg[0]);
	ar_buf_clear(out);
	ar_event_encode(&e, out);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	ar_arena_reset(&arena);
	if (!recode((struct ar_str){ (const char *)bytes, len }, &first))
		return 0;
	AR_ASSERT(recode(ar_buf_str(&first), &second));
	AR_ASSERT(ar_str_eq(ar_buf_str(&first), ar_buf_str(&second)));
	return 0;
}
