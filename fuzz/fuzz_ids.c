/* Fuzz target: texts that name things, as anybody on the network may send them: ids of sessions and of
 * what is in them, refs of content and of a process's streams, API tokens and their stored records,
 * hashes, handles, authorities. What is taken apart lies inside the text and, put together again, is
 * the text; what is called a session has a partition; and no two tenants may choose the same session. */
#include "handle.h"
#include "id.h"
#include "identity.h"
#include "loopback.h"
#include "tenant.h"
#include "token.h"

#include <string.h>

static struct ar_json_parser *parser;
static struct ar_arena arena;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc AR_UNUSED, char ***argv AR_UNUSED)
{
	parser = ar_json_parser_new();
	return 0;
}

static void check_inside(struct ar_str text, struct ar_str part)
{
	AR_ASSERT(part.p >= text.p && part.p + part.len <= text.p + text.len);
}

/* Asking for the partition of what is no session ends the process. */
static void check_session(struct ar_str text, struct ar_str session_key)
{
	bool is_local = ar_tenant_may_name(AR_STR(AR_TENANT_LOCAL), session_key);
	bool is_acme = ar_tenant_may_name(AR_STR("acme"), session_key);

	check_inside(text, session_key);
	AR_ASSERT(session_key.len == AR_SESSION_KEY_LEN && ar_id_partition(session_key) < AR_PARTITIONS);
	AR_ASSERT(is_local + is_acme + ar_tenant_may_name(AR_STR("other"), session_key) <= 1);
	AR_ASSERT(!is_acme || !ar_tenant_is_home(AR_STR("acme"), session_key));
}

static void check_id(struct ar_str text)
{
	struct ar_str session_key = ar_id_session_key(text), owner = ar_id_owner(text), prefix;
	const char *name;
	uint64_t n;

	AR_ASSERT(ar_str_absent(session_key) || ar_str_eq(session_key, owner));
	if (!ar_str_absent(owner))
		check_session(text, owner);
	if (ar_str_absent(session_key)) {
		AR_ASSERT(!ar_id_counter(text, &n));
		return;
	}
	ar_str_split(text, '_', &prefix);
	name = ar_arena_fmt(&arena, "%.*s", AR_STR_ARG(prefix)).p;
	AR_ASSERT(ar_str_eq(text, ar_id_counter(text, &n) ? ar_id_inner(&arena, name, session_key, n)
							  : ar_id_root(&arena, name, session_key)));
	ar_tool_call_id(&arena, text, AR_TOOL_CALLS_MAX - 1);
}

static void check_refs(struct ar_str text)
{
	struct ar_str session_key, process;
	struct ar_hash hash;
	int stream;

	if (ar_ref_parse(text, &session_key, &hash)) {
		check_session(text, session_key);
		AR_ASSERT(ar_str_eq(text, ar_ref_make(&arena, session_key, &hash)));
	}
	if (ar_process_ref_parse(text, &process, &stream)) {
		check_session(text, ar_id_session_key(process));
		AR_ASSERT(ar_str_eq(text, ar_process_ref_make(&arena, process, stream)));
	}
}

static void check_hash(struct ar_str text)
{
	char printed[AR_HASH_TEXT];
	struct ar_hash hash;

	if (!ar_hash_parse(text, &hash))
		return;
	ar_hash_text(&hash, printed);
	AR_ASSERT(ar_str_eq(text, (struct ar_str){ printed, sizeof(printed) }));
}

static void check_token(struct ar_str text)
{
	struct ar_str id, secret;

	if (!ar_token_parse(text, &id, &secret))
		return;
	AR_ASSERT(ar_str_eq(text, ar_arena_fmt(&arena, "art_%.*s_%.*s", AR_STR_ARG(id), AR_STR_ARG(secret))));
	AR_ASSERT(!ar_token_match(NULL, secret, 1));
}

/* An id, a NUL, a record. */
static void check_record(struct ar_str text)
{
	struct ar_str id, record = ar_str_split(text, '\0', &id);
	struct ar_token *first = ar_token_read(parser, id, record), *second;
	struct ar_buf one = { 0 }, two = { 0 };

	if (!first)
		return;
	ar_token_write(first, &one);
	second = ar_token_read(parser, id, ar_buf_str(&one));
	AR_ASSERT(second && first->secret_count <= AR_TOKEN_SECRETS);
	ar_token_write(second, &two);
	AR_ASSERT(ar_str_eq(ar_buf_str(&one), ar_buf_str(&two)));
	ar_token_free(first);
	ar_token_free(second);
	ar_buf_fini(&one);
	ar_buf_fini(&two);
}

static void check_handle(struct ar_str text)
{
	struct ar_str parts[] = { AR_STR("shim1:"), AR_STR_NONE, AR_STR(":"),
				  AR_STR_NONE,	    AR_STR(":"), AR_STR_NONE };
	struct ar_handle h;

	if (!ar_handle_parse(text, &h))
		return;
	parts[1] = h.machine;
	parts[3] = h.boot;
	parts[5] = h.folder;
	AR_ASSERT(ar_str_eq(text, ar_arena_join(&arena, parts, AR_ARRAY_LEN(parts))));
}

static void check_authority(struct ar_str text)
{
	struct ar_authority a;
	union ar_sockaddr sa;

	ar_loopback_origin(text);
	if (!ar_authority_parse(text, &a)) {
		AR_ASSERT(!ar_loopback_host(text));
		return;
	}
	check_inside(text, a.host);
	AR_ASSERT(!ar_loopback_address(&a, &sa) || ar_sockaddr_is_loopback(&sa));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static void (*const checks[])(struct ar_str) = { check_id,	 check_refs,   check_hash,
							 check_token,	 check_record, check_handle,
							 check_authority };
	struct ar_str text = { (const char *)bytes, len };

	ar_arena_reset(&arena);
	for (size_t i = 0; i < AR_ARRAY_LEN(checks); i++)
		checks[i](text);
	return 0;
}
