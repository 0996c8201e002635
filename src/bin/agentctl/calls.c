/* See calls.h. One thread. */
#include "calls.h"
#include "resolve.h"

#define ERROR_MAX 600

struct ar_str ar_calls_begin(struct ar_calls *calls, struct ar_ctl *c, struct ar_json event)
{
	size_t at = calls->count++ % AR_CALLS_KEPT;

	calls->at[at].id = ar_arena_str(&c->arena, ar_api_str(event, "toolCallId"));
	calls->at[at].name = ar_arena_str(&c->arena, ar_api_str(ar_json_get(event, "payload"), "toolName"));
	return calls->at[at].name;
}

struct ar_str ar_calls_name(const struct ar_calls *calls, struct ar_json event)
{
	struct ar_str id = ar_api_str(event, "toolCallId");

	for (size_t i = 0; i < AR_CALLS_KEPT; i++) {
		if (!ar_str_absent(id) && ar_str_eq(calls->at[i].id, id))
			return calls->at[i].name;
	}
	return AR_STR("tool");
}

struct ar_str ar_calls_error(struct ar_ctl *c, struct ar_json payload)
{
	struct ar_str ref = ar_api_str(payload, "errorRef"), text = AR_STR_NONE;
	struct ar_api_reply reply = { 0 };

	if (!ar_str_absent(ref) &&
	    ar_api_try(c, "read_output", ar_resolve_body(c, "outputRef", ref), &reply, NULL) == AR_OK)
		text = ar_arena_str(&c->arena,
				    ar_arena_excerpt(&c->arena, ar_api_str(reply.doc, "content"), ERROR_MAX));
	ar_api_fini(&reply);
	return text;
}
