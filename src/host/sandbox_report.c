/* See sandbox_report.h. Runs instead of the runtime, on the calling thread. */
#include "sandbox_report.h"

#include "sandbox_open.h"
#include "json.h"

#include <unistd.h>

static void profile(struct ar_jw *w, const struct ar_sandbox_host *host, enum ar_sandbox_profile p)
{
	const struct ar_sandbox_standing *s = &host->profiles[p];

	ar_jw_open(w);
	ar_jw_mstr(w, "name", ar_str_from(ar_sandbox_name(p)));
	ar_jw_mbool(w, "isAvailable", s->is_available);
	if (!s->is_available) {
		ar_jw_mstr(w, "reason", s->reason);
		ar_jw_mstr(w, "remedy", s->remedy);
	}
	ar_jw_mraw(w, "guarantees", s->guarantees);
	ar_jw_close(w);
}

/* Without its helpers nothing can be proven, and that says nothing about the kernel: so it comes first. */
static void say_missing(struct ar_jw *w, const struct ar_sandbox *s)
{
	static const char *const helpers[] = { "agent-init", "agent-shim", "agent-files", "agent-proxy",
					       "agent-audit" };
	struct ar_arena a = { 0 };
	struct ar_str missing = AR_STR_NONE, first = AR_STR_NONE;

	for (size_t i = 0; i < AR_ARRAY_LEN(helpers); i++) {
		if (access(ar_sandbox_helper(s, helpers[i], &a).p, X_OK) == 0)
			continue;
		if (ar_str_absent(first))
			first = ar_str_from(helpers[i]);
		missing = ar_str_absent(missing)
				  ? first
				  : ar_arena_fmt(&a, "%.*s, %s", AR_STR_ARG(missing), helpers[i]);
	}
	if (!ar_str_absent(first))
		ar_jw_mstr(
			w, "cause",
			ar_arena_fmt(
				&a,
				"%.*s is not installed next to agentd: copy %.*s to %.*s from the directory "
				"of the other programs, or set sandbox.helpers to their directory",
				AR_STR_ARG(first), AR_STR_ARG(missing), AR_STR_ARG(ar_sandbox_helpers(s))));
	ar_arena_fini(&a);
}

enum ar_status ar_host_sandbox_report(const struct ar_config *c, struct ar_buf *out, struct ar_error *err)
{
	struct ar_jw w = ar_jw(out);
	enum ar_sandbox_profile wanted = ar_host_sandbox_profile(c);
	const struct ar_sandbox_host *host;
	struct ar_sandbox *s = NULL;

	if (ar_host_sandbox_open(c, &s, err) != AR_OK)
		return err->status;
	host = ar_sandbox_host_of(s);
	ar_jw_open(&w);
	say_missing(&w, s);
	ar_jw_mstr(&w, "profile", ar_str_from(ar_sandbox_name(wanted)));
	ar_jw_mbool(&w, "isAvailable", host->profiles[wanted].is_available);
	ar_jw_key(&w, "profiles");
	ar_jw_open_array(&w);
	for (int p = 1; p < AR_SANDBOX_COUNT; p++)
		profile(&w, host, (enum ar_sandbox_profile)p);
	ar_jw_close_array(&w);
	ar_jw_mraw(&w, "ladder", host->ladder);
	ar_jw_close(&w);
	ar_sandbox_close(s);
	return AR_OK;
}
