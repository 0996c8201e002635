/* Fuzz target: any JSON as params or answer of any method of A2A, in both versions. What comes out is JSON
 * again, not much longer than what went in; its form to be signed is one text, whatever was read. */
#include "jcs.h"
#include "v03.h"

static struct ar_json_parser *parser, *second;
static struct ar_buf out, form, again;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc AR_UNUSED, char ***argv AR_UNUSED)
{
	parser = ar_json_parser_new();
	second = ar_json_parser_new();
	return 0;
}

static void check_form(struct ar_json v)
{
	struct ar_arena a = { 0 };
	struct ar_json read;

	ar_buf_clear(&form);
	ar_buf_clear(&again);
	ar_jcs(v, &a, &form);
	/* Numbers such as 3e20 become integers that our reader refuses. */
	if (ar_json_parse(second, ar_buf_str(&form), &read, NULL) == AR_OK) {
		ar_jcs(read, &a, &again);
		AR_ASSERT(ar_str_eq(ar_buf_str(&form), ar_buf_str(&again)));
	}
	ar_arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static void (*const all[])(struct ar_str, struct ar_json,
				   struct ar_buf *) = { ar_a2a_v03_params, ar_a2a_v03_result,
							ar_a2a_v03_params_back, ar_a2a_v03_result_back };
	static const char *const methods[] = { "message/send",
					       "message/stream",
					       "tasks/get",
					       "tasks/resubscribe",
					       "tasks/pushNotificationConfig/set",
					       "tasks/pushNotificationConfig/get",
					       "tasks/pushNotificationConfig/list",
					       "tasks/pushNotificationConfig/delete" };
	struct ar_json v, read;

	if (len > 65536 || ar_json_parse(parser, (struct ar_str){ (const char *)bytes, len }, &v, NULL))
		return 0;
	for (size_t i = 0; i < AR_ARRAY_LEN(methods) * AR_ARRAY_LEN(all); i++) {
		ar_buf_clear(&out);
		all[i % AR_ARRAY_LEN(all)](ar_a2a_v03_method(ar_str_from(methods[i / AR_ARRAY_LEN(all)])), v,
					   &out);
		AR_ASSERT(ar_json_parse(second, ar_buf_str(&out), &read, NULL) == AR_OK);
		AR_ASSERT(out.len <= 24 * len + 256);
	}
	check_form(v);
	return 0;
}
