/* See identity.h. */
#include "identity.h"
#include "id.h"

struct ar_str ar_tool_call_id(struct ar_arena *a, struct ar_str step_id, uint32_t index)
{
	uint64_t n;

	if (!ar_id_counter(step_id, &n))
		return AR_STR_NONE;
	return ar_id_inner(a, "tool", ar_id_core(step_id), n * AR_TOOL_CALLS_MAX + index);
}

struct ar_str ar_ref_make(struct ar_arena *a, struct ar_str core, const struct ar_hash *h)
{
	char text[AR_HASH_TEXT];
	const struct ar_str parts[] = { AR_STR("blob_"), core, AR_STR("_"), { text, AR_HASH_TEXT } };

	ar_hash_text(h, text);
	return ar_arena_join(a, parts, AR_ARRAY_LEN(parts));
}

bool ar_ref_parse(struct ar_str ref, struct ar_str *ret_core, struct ar_hash *ret_hash)
{
	struct ar_str prefix = AR_STR("blob_");

	if (!ar_str_starts(ref, prefix) || ref.len != prefix.len + AR_ID_CORE + 1 + AR_HASH_TEXT ||
	    ref.p[prefix.len + AR_ID_CORE] != '_')
		return false;
	*ret_core = ar_str_sub(ref, prefix.len, AR_ID_CORE);
	return ar_hash_parse(ar_str_sub(ref, prefix.len + AR_ID_CORE + 1, AR_HASH_TEXT), ret_hash);
}
