/* Fuzz target: .mcp.json of a workspace. No more servers than allowed, names that tools may have and none
 * twice, texts without a NUL character within their cap unless there is a reason, and a refusal has none. */
#include "tool.h"
#include "workspace/mcp_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_texts(struct ar_texts texts)
{
	AR_ASSERT(texts.count <= AR_SERVER_WORDS_MAX);
	for (size_t i = 0; i < texts.count; i++)
		AR_ASSERT(!ar_str_absent(texts.at[i]) && !memchr(texts.at[i].p, 0, texts.at[i].len));
}

static void check_server(const struct ar_server *s)
{
	AR_ASSERT(ar_tool_is_name(s->name));
	if (!ar_str_absent(s->reason))
		return;
	AR_ASSERT(!ar_str_empty(s->command) && s->command.len <= AR_SERVER_TEXT_MAX);
	check_texts(s->args);
	check_texts(s->env);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_server servers[AR_SERVERS_MAX];
	struct ar_arena arena = { 0 };
	const struct ar_str set[] = { AR_STR("A=a value that is longer than its name"), AR_STR("S") };
	size_t count;
	const char *reason = ar_mcp_file_read((struct ar_str){ (const char *)bytes, len },
					      (struct ar_texts){ set, 2 }, &arena, servers, &count);

	AR_ASSERT(count <= AR_SERVERS_MAX && (!reason || (*reason && count == 0)));
	for (size_t i = 0; i < count; i++) {
		check_server(&servers[i]);
		for (size_t k = 0; k < i; k++)
			AR_ASSERT(!ar_str_eq(servers[i].name, servers[k].name));
	}
	ar_arena_fini(&arena);
	return 0;
}
