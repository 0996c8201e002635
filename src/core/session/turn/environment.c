/* The environment that a turn starts in: what the host and the turn's options say of it. What a
 * command really ran in is told by the facts of its process; what is not known before that (the
 * variables) is left out here. Pure. */
#include "decide.h"
#include "permission/permission.h"

static void write_sandbox(const struct ar_policy *policy, enum ar_sandbox_profile profile, struct ar_jw *w)
{
	const struct ar_sandbox_standing *s = policy->sandbox ? &policy->sandbox->profiles[profile] : NULL;

	ar_jw_key(w, "sandboxProfile");
	ar_jw_open(w);
	ar_jw_mstr(w, "mode", ar_str_from(ar_sandbox_name(profile)));
	ar_jw_mbool(w, "isAvailable", s && s->is_available);
	if (!s)
		ar_jw_mstr(w, "reason", AR_STR("no sandbox was set up here"));
	else if (!s->is_available)
		ar_jw_mstr(w, "reason", s->reason);
	ar_jw_close(w);
	ar_jw_key(w, "networkProfile");
	ar_jw_open(w);
	ar_jw_mstr(w, "access", ar_str_from(ar_profile_network(profile)));
	ar_jw_close(w);
}

static void write_limits(const struct ar_policy *policy, struct ar_jw *w)
{
	ar_jw_key(w, "processLimits");
	ar_jw_open(w);
	ar_jw_mint(w, "timeoutMs", policy->tool_ms);
	ar_jw_mint(w, "outputBytesPerStream", policy->process_output_bytes);
	ar_jw_mint(w, "graceMs", policy->process_grace_ms);
	ar_jw_close(w);
}

struct ar_str ar_turn_environment(struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_policy *policy = d->input->policy;
	enum ar_sandbox_profile profile = ar_profile_of_turn(policy, ar_turn_options(turn));
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "workspaceId", d->session->workspace);
	ar_jw_mstr(&w, "cwd", ar_decide_is_admitted(d) ? policy->workspace : AR_STR_NONE);
	ar_jw_mstr(&w, "shell", policy->shell);
	ar_jw_mstr(&w, "os", policy->os);
	ar_jw_mstr(&w, "arch", policy->arch);
	write_sandbox(policy, profile, &w);
	write_limits(policy, &w);
	ar_jw_close(&w);
	return ar_decide_content(d, ar_decide_json_end(d));
}
