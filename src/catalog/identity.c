/* See identity.h. */
#include "identity.h"
#include "catalog.h"
#include "id.h"

struct ar_str ar_tool_call_id(struct ar_arena *a, struct ar_str step_id, uint32_t index)
{
	uint64_t n;

	if (!ar_id_counter(step_id, &n))
		return AR_STR_NONE;
	return ar_id_inner(a, "tool", ar_id_session_key(step_id), n * AR_TOOL_CALLS_MAX + index);
}

struct ar_str ar_ref_make(struct ar_arena *a, struct ar_str session_key, const struct ar_hash *h)
{
	char text[AR_HASH_TEXT];
	const struct ar_str parts[] = { AR_STR("blob_"), session_key, AR_STR("_"), { text, AR_HASH_TEXT } };

	ar_hash_text(h, text);
	return ar_arena_join(a, parts, AR_ARRAY_LEN(parts));
}

bool ar_ref_parse(struct ar_str ref, struct ar_str *ret_session_key, struct ar_hash *ret_hash)
{
	struct ar_str prefix = AR_STR("blob_");

	if (!ar_str_starts(ref, prefix) || ref.len != prefix.len + AR_SESSION_KEY_LEN + 1 + AR_HASH_TEXT ||
	    ref.p[prefix.len + AR_SESSION_KEY_LEN] != '_' ||
	    ar_str_absent(ar_id_session_key(ar_str_sub(ref, 0, prefix.len + AR_SESSION_KEY_LEN))))
		return false;
	*ret_session_key = ar_str_sub(ref, prefix.len, AR_SESSION_KEY_LEN);
	return ar_hash_parse(ar_str_sub(ref, prefix.len + AR_SESSION_KEY_LEN + 1, AR_HASH_TEXT), ret_hash);
}

static const char *const stream_names[] = { [AR_PROCESS_OUTPUT_STREAM_STDOUT] = "stdout",
					    [AR_PROCESS_OUTPUT_STREAM_STDERR] = "stderr",
					    [AR_PROCESS_OUTPUT_STREAM_PTY] = "pty" };

struct ar_str ar_process_ref_make(struct ar_arena *a, struct ar_str process, int stream)
{
	const struct ar_str parts[] = { process, AR_STR("."), ar_str_from(stream_names[stream]) };

	return ar_arena_join(a, parts, AR_ARRAY_LEN(parts));
}

bool ar_process_ref_parse(struct ar_str ref, struct ar_str *ret_process, int *ret_stream)
{
	struct ar_str stream = ar_str_split(ref, '.', ret_process);

	if (!ar_str_starts(ref, AR_STR("proc_")) || ar_str_absent(ar_id_session_key(*ret_process)))
		return false;
	for (int i = 1; i < (int)AR_ARRAY_LEN(stream_names); i++) {
		if (!ar_str_is(stream, stream_names[i]))
			continue;
		*ret_stream = i;
		return true;
	}
	return false;
}
