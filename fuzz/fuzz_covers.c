/* Fuzz target: any text is read without harm. One that counts as literal but for harmless redirections is
 * opaque to the strict reading, and what is left of it without them is not. */
#include "command.h"
#include "permission/permission.h"
#include "status.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_str text = { (const char *)bytes, len };
	struct ar_arena a = { 0 };
	struct ar_command_line c = { 0 };

	if (ar_shell_is_nearly_literal(&a, text)) {
		ar_command_read_literal(text, &a, &c);
		AR_ASSERT(c.is_opaque || c.count > 0);
		for (size_t i = 0; i < len; i++)
			AR_ASSERT(bytes[i] != '\0');
	}
	ar_arena_fini(&a);
	return 0;
}
