/* Fuzz target: the text of a skill or an agent definition. What is read is no larger than the text, keys are
 * words and none is there twice, lists have an end, and a refusal comes with a sentence. */
#include "text/front_matter.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_entries(const struct ar_front_matter *f, size_t len, struct ar_arena *a)
{
	struct ar_error err = { 0 };
	struct ar_texts items;
	size_t total = f->body.len;

	AR_ASSERT(f->count <= AR_FRONT_MATTER_KEYS_MAX);
	for (size_t i = 0; i < f->count; i++) {
		AR_ASSERT(f->at[i].key.len > 0 && !ar_str_absent(f->at[i].value));
		AR_ASSERT(ar_front_matter_get(f, f->at[i].key.p).p == f->at[i].value.p);
		total += f->at[i].key.len + f->at[i].value.len;
		if (ar_front_matter_list(f, f->at[i].key.p, a, &items, &err) == AR_OK)
			AR_ASSERT(items.count <= AR_FRONT_MATTER_ITEMS_MAX);
		else
			AR_ASSERT(err.msg[0] != '\0');
	}
	AR_ASSERT(total <= len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_arena arena = { 0 };
	struct ar_error err = { 0 };
	struct ar_front_matter f;

	if (ar_front_matter_read((struct ar_str){ (const char *)bytes, len }, &arena, &f, &err) == AR_OK)
		check_entries(&f, len, &arena);
	else
		AR_ASSERT(err.msg[0] != '\0');
	ar_arena_fini(&arena);
	return 0;
}
