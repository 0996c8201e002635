/* The environment that a turn starts in: what the host and the turn's options say of it. What a
 * command really ran in is told by the facts of its process; what is not known before that (the
 * variables) is left out here. Pure. */
#include "decide.h"
#include "permission/permission.h"
#include "worker/worker.h"

static struct ar_shape_environment_sandbox of_worker(const struct ar_decision *d,
						     enum ar_sandbox_profile profile)
{
	bool is_known;
	struct ar_sandbox_standing s = ar_worker_standing(d, profile, &is_known);

	return (struct ar_shape_environment_sandbox){
		.mode = ar_str_from(ar_sandbox_name(profile)),
		.is_available = is_known && s.is_available,
		.reason = !is_known ? AR_STR("the worker has not said yet what it can enforce") : s.reason
	};
}

static struct ar_shape_environment_sandbox sandbox_of(const struct ar_sandbox_host *host,
						      enum ar_sandbox_profile profile)
{
	const struct ar_sandbox_standing *s = host ? &host->profiles[profile] : NULL;
	bool is_available = s && s->is_available;
	struct ar_str why_not = s ? s->reason : AR_STR("no sandbox was set up here");

	return (struct ar_shape_environment_sandbox){ .mode = ar_str_from(ar_sandbox_name(profile)),
						      .is_available = is_available,
						      .reason = is_available ? AR_STR_NONE : why_not };
}

struct ar_str ar_turn_environment(struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_policy *policy = d->input->policy;
	enum ar_sandbox_profile profile = ar_profile_of_turn(d->session, policy, ar_turn_options(turn));
	const struct ar_shape_environment_sandbox sandbox =
		ar_str_absent(ar_session_worker(d->session))
			? sandbox_of(ar_session_sandbox(d->session, policy), profile)
			: of_worker(d, profile);
	const struct ar_shape_environment_network network = { .access = ar_str_from(
								      ar_profile_network(profile)) };
	const struct ar_shape_process_limits limits = { .timeout_ms = policy->tool_ms,
							.output_bytes_per_stream =
								policy->process_output_bytes,
							.grace_ms = policy->process_grace_ms };
	const struct ar_shape_turn_environment e = {
		.workspace_id = d->session->workspace,
		.cwd = ar_decide_folder_of(d, turn),
		.shell = policy->shell,
		.os = policy->os,
		.arch = policy->arch,
		.sandbox_profile = &sandbox,
		.network_profile = &network,
		.process_limits = &limits,
	};

	return ar_decide_content(d, ar_decide_shape(d, &ar_shape_turn_environment_desc, &e));
}
