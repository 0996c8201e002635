/* Fuzz target: a file's text, a NUL, a patch. Whatever is read points into memory that is there, a refusal
 * comes with a sentence, the hunks of every file are put into the text or refused with one, and all of it
 * ends in bounded time. */
#include "patch/splice.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void splice(struct ar_arena *a, const struct ar_patch *p, const struct ar_patch_file *f,
		   struct ar_str text)
{
	struct ar_splice s = { .arena = a, .patch = p, .text = text };
	enum ar_status status = ar_splice(&s, f);

	AR_ASSERT(status == AR_OK || s.wrong.len > 0);
	AR_ASSERT(s.result.len <= AR_SPLICE_BYTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_str all = { (const char *)bytes, len }, text, patch_text;
	struct ar_arena arena = { 0 };
	struct ar_error err = { 0 };
	struct ar_patch p;

	patch_text = ar_str_split(all, '\0', &text);
	if (ar_str_absent(patch_text))
		return 0;
	if (ar_patch_read(&arena, patch_text, &p, &err) != AR_OK)
		AR_ASSERT(err.msg[0] != '\0');
	for (const struct ar_patch_file *f = p.files; f && err.status == AR_OK; f = f->next) {
		AR_ASSERT(f->path.len > 0);
		splice(&arena, &p, f, text);
	}
	ar_arena_fini(&arena);
	return 0;
}
