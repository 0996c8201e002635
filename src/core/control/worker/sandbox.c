/* What a worker reported that it can enforce, as a host of the sandbox port. The report is the worker's word:
 * every text is cut, and the ladder is written anew from what can be read of it. Owner: the loop thread. */
#include "control_priv.h"
#include "worker.h"

#define TEXT_MAX 1024
#define STEPS_MAX 64

static struct ar_str text_at(struct ar_call *c, struct ar_json v, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	if (!ar_json_str(ar_json_get(v, name), &text))
		return AR_STR_NONE;
	return ar_arena_str(&c->arena, ar_str_utf8_prefix(text, TEXT_MAX));
}

static struct ar_sandbox_standing profile_at(struct ar_call *c, struct ar_json v)
{
	struct ar_sandbox_standing standing = { .reason = text_at(c, v, "reason"),
						.remedy = text_at(c, v, "remedy") };
	struct ar_json guarantees = ar_json_get(v, "guarantees");
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };

	ar_json_bool(ar_json_get(v, "isAvailable"), &standing.is_available);
	if (ar_json_type(guarantees) == AR_JSON_OBJECT) {
		ar_json_print(guarantees, &text);
		standing.guarantees = ar_arena_str(&c->arena, ar_buf_str(&text));
	}
	return standing;
}

static void write_step(struct ar_call *c, struct ar_json v, struct ar_jw *w)
{
	bool is_working = false;

	ar_json_bool(ar_json_get(v, "isWorking"), &is_working);
	ar_jw_open(w);
	ar_jw_mstr(w, "mechanism", ar_str_utf8_prefix(text_at(c, v, "mechanism"), 128));
	ar_jw_mbool(w, "isWorking", is_working);
	ar_jw_mstr(w, "detail", text_at(c, v, "detail"));
	ar_jw_mstr(w, "remedy", text_at(c, v, "remedy"));
	ar_jw_close(w);
}

static struct ar_str ladder_of(struct ar_call *c, struct ar_json steps)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);
	size_t count = ar_json_type(steps) == AR_JSON_ARRAY ? ar_json_len(steps) : 0;

	ar_jw_open_array(&w);
	for (size_t i = 0; i < count && i < STEPS_MAX; i++)
		write_step(c, ar_json_at(steps, i), &w);
	ar_jw_close_array(&w);
	return ar_arena_str(&c->arena, ar_buf_str(&text));
}

const struct ar_sandbox_host *ar_worker_sandbox(struct ar_call *c, const struct ar_session *s)
{
	const struct ar_worker_status status = ar_engine_worker_status(c->control->engine, s);
	struct ar_sandbox_host *host;
	struct ar_json v, profiles;

	if (ar_str_absent(status.capabilities) ||
	    ar_json_parse(c->control->json, status.capabilities, &v, NULL) != AR_OK)
		return NULL;
	profiles = ar_json_get(v, "profiles");
	if (ar_json_type(profiles) != AR_JSON_OBJECT)
		return NULL;
	host = ar_arena_alloc(&c->arena, sizeof(*host));
	for (int i = 1; i < AR_SANDBOX_COUNT; i++)
		host->profiles[i] =
			profile_at(c, ar_json_get(profiles, ar_sandbox_name((enum ar_sandbox_profile)i)));
	host->ladder = ladder_of(c, ar_json_get(v, "ladder"));
	return host;
}
