/* What can be enforced where the calls of a session run: on this machine, or on the worker that has its
 * workspace, as the worker reported it. Pure. */
#include "worker/worker.h"

static struct ar_str text_at(const struct ar_decision *d, struct ar_json v, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(v, name), &text);
	return ar_arena_str(d->arena, text);
}

static struct ar_sandbox_standing reported(const struct ar_decision *d, enum ar_sandbox_profile profile,
					   bool *ret_is_known)
{
	struct ar_str report = d->input->worker.capabilities;
	struct ar_sandbox_standing standing = { 0 };
	struct ar_json v, one;

	*ret_is_known = !ar_str_absent(report) && ar_json_parse(d->json, report, &v, NULL) == AR_OK &&
			ar_json_type(ar_json_get(v, "profiles")) == AR_JSON_OBJECT;
	if (!*ret_is_known)
		return (struct ar_sandbox_standing){ .is_available = true };
	one = ar_json_get(ar_json_get(v, "profiles"), ar_sandbox_name(profile));
	ar_json_bool(ar_json_get(one, "isAvailable"), &standing.is_available);
	standing.reason = text_at(d, one, "reason");
	standing.remedy = text_at(d, one, "remedy");
	return standing;
}

struct ar_sandbox_standing ar_worker_standing(const struct ar_decision *d, enum ar_sandbox_profile profile,
					      bool *ret_is_known)
{
	const struct ar_sandbox_host *host = d->input->policy->sandbox;

	if (!ar_str_absent(ar_session_worker(d->session)))
		return reported(d, profile, ret_is_known);
	*ret_is_known = true;
	return host ? host->profiles[profile] : (struct ar_sandbox_standing){ 0 };
}
