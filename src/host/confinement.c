/* See confinement.h. Runs instead of the runtime, on the calling thread. */
#include "confinement.h"

#include "confine.h"
#include "json.h"

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

enum ar_status ar_runtime_confinement(const struct ar_config *c, struct ar_buf *out, struct ar_error *err)
{
	struct ar_jw w = ar_jw(out);
	enum ar_sandbox_profile wanted = ar_confine_profile(c);
	const struct ar_sandbox_host *host;
	struct ar_sandbox *s = NULL;

	if (ar_confine_open(c, &s, err) != AR_OK)
		return err->status;
	host = ar_sandbox_host_of(s);
	ar_jw_open(&w);
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
