/* Fuzz target: a value of the header Idempotency-Key, a NUL, a body, as anybody on the network may send them.
 * What is taken is the body's own JSON object with that one key in it and everything else as it was; a
 * refusal says why and writes nothing. The same for Last-Event-ID and `after`. */
#include "input.h"

#include <string.h>

static struct ar_json_parser *parser, *reader;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc AR_UNUSED, char ***argv AR_UNUSED)
{
	parser = ar_json_parser_new();
	reader = ar_json_parser_new();
	return 0;
}

typedef enum ar_status (*input_fn)(struct ar_json_parser *parser, struct ar_str body, struct ar_str value,
				   struct ar_buf *out, struct ar_error *err);

/* Every member of the result but the one that was set is in the body, with the same value. */
static void expect_kept(struct ar_json made, struct ar_json body, const char *name)
{
	for (struct ar_json_iter it = ar_json_iter(made); ar_json_next(&it);) {
		struct ar_buf one = { 0 }, other = { 0 }, key = { 0 };

		if (ar_str_is(it.name, name) || memchr(it.name.p, '\0', it.name.len))
			continue; /* a name with a NUL cannot be looked up by a C string */
		ar_buf_adds(&key, it.name);
		ar_buf_addc(&key, '\0');
		ar_json_print(it.value, &one);
		ar_json_print(ar_json_get(body, key.p), &other);
		AR_ASSERT(ar_str_eq(ar_buf_str(&one), ar_buf_str(&other)));
		ar_buf_fini(&one);
		ar_buf_fini(&other);
		ar_buf_fini(&key);
	}
}

static void try(input_fn with, const char *name, struct ar_str value, struct ar_str body)
{
	struct ar_error err = { 0 };
	struct ar_buf out = { 0 };
	struct ar_json made, doc;
	struct ar_str text;

	if (with(parser, body, value, &out, &err) != AR_OK) {
		AR_ASSERT(err.msg[0] && !out.len);
		ar_buf_fini(&out);
		return;
	}
	AR_ASSERT(ar_json_parse(reader, ar_buf_str(&out), &made, NULL) == AR_OK &&
		  ar_json_type(made) == AR_JSON_OBJECT); /* a doubled member would have been refused */
	AR_ASSERT(ar_json_str(ar_json_get(made, name), &text) && text.len <= value.len);
	AR_ASSERT(ar_json_parse(parser, body.len ? body : AR_STR("{}"), &doc, NULL) == AR_OK);
	expect_kept(made, doc, name);
	ar_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_str text = { (const char *)bytes, len }, value, body;

	if (!len || !memchr(bytes, '\0', len))
		return 0;
	body = ar_str_split(text, '\0', &value);
	if (ar_str_absent(body))
		body = AR_STR("");
	try(ar_input_with_key, "idempotencyKey", value, body);
	if (value.len && ar_str_is_utf8(value))
		try(ar_input_with_after, "after", value, body);
	return 0;
}
