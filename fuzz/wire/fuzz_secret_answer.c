/* Fuzz target: a JSON pointer, a NUL, the answer of a secret store, as an operator may write the first and a
 * hostile store the second. A value is a string of the answer; a refusal says why, and never with a byte of
 * the answer in it. */
#include "secret_priv.h"

#include <string.h>

#define MARK "never-to-be-said-0815"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_str text = { (const char *)bytes, len }, field, answer = ar_str_split(text, '\0', &field);
	AR_AUTO(ar_buf_fini) struct ar_buf pointer = { 0 };
	AR_AUTO(ar_buf_fini) struct ar_buf value = { 0 };
	struct ar_error err = { 0 };

	if (ar_str_absent(answer))
		return 0;
	ar_buf_addf(&pointer, "/%.*s%c", AR_STR_ARG(field), '\0'); /* the settings refuse another beginning */
	if (ar_secret_answer(answer, pointer.p, &value, &err) == AR_OK)
		AR_ASSERT(value.len <= answer.len && err.msg[0] == '\0');
	else
		AR_ASSERT(err.msg[0] && value.len == 0 &&
			  (strstr(pointer.p, MARK) || !strstr(err.msg, MARK)));
	return 0;
}
