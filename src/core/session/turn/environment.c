/* The environment that a turn starts in: what the host and the turn's options say of it. What a
 * command really ran in is told by the facts of its process; what is not known before that (the
 * variables) is left out here. Pure. */
#include "decide.h"
#include "context/context.h"
#include "permission/permission.h"
#include "worker/worker.h"

static struct ar_shape_environment_sandbox of_worker(const struct ar_decision *d,
						     enum ar_sandbox_profile profile)
{
	bool is_known;
	struct ar_sandbox_standing s = ar_worker_standing(d, profile, &is_known);

	return (struct ar_shape_environment_sandbox){
		.mode = ar_str_from(ar_sandbox_name(profile)),
		.is_available = AR_OPT_BOOL(is_known && s.is_available),
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
						      .is_available = AR_OPT_BOOL(is_available),
						      .reason = is_available ? AR_STR_NONE : why_not };
}

struct ar_str ar_turn_environment(struct ar_decision *d, const struct ar_turn *turn,
				  const struct ar_shape_turn_environment **ret_new)
{
	const struct ar_policy *policy = d->input->policy;
	enum ar_sandbox_profile profile = ar_profile_of_turn(d->session, policy, ar_turn_options(turn));
	const struct ar_shape_environment_sandbox sandbox =
		ar_str_absent(ar_session_worker(d->session))
			? sandbox_of(ar_session_sandbox(d->session, policy), profile)
			: of_worker(d, profile);
	const struct ar_shape_environment_network network = { .access = ar_str_from(
								      ar_profile_network(profile)) };
	const struct ar_shape_environment_limits limits = { .timeout_ms = AR_OPT_INT(policy->tool_ms),
							    .output_bytes_per_stream =
								    AR_OPT_INT(policy->process_output_bytes),
							    .grace_ms =
								    AR_OPT_INT(policy->process_grace_ms) };
	const struct ar_shape_turn_environment e = {
		.workspace_id = d->session->workspace,
		.cwd = ar_decide_folder_of(d, turn),
		.additional_roots = ar_texts_empty,
		.shell = policy->shell,
		.os = policy->os,
		.arch = policy->arch,
		.sandbox_profile = &sandbox,
		.network_profile = &network,
		.resource_limits = &limits,
		.permission_mode = ar_str_from(ar_permission_mode_of(d, turn)),
	};
	struct ar_str ref = ar_decide_content(d, ar_decide_shape(d, &ar_shape_turn_environment_desc, &e));

	*ret_new = ar_session_turn_environment(d->session, ref)
			   ? NULL
			   : ar_struct_copy(&ar_shape_turn_environment_desc, &e, AR_COPY_BORROW, d->arena);
	return ref;
}

/* ---- its input ---- */

static struct ar_shape_prompt_augmentation augmentation_of(const struct ar_decision *d)
{
	const struct ar_policy *policy = d->input->policy;
	const struct ar_shape_workspace_instructions *own = d->session->instructions;
	bool is_host = !d->session->bound && ar_decide_is_admitted(d) && !ar_str_empty(policy->instructions);
	struct ar_shape_prompt_augmentation a = { .skills = AR_OPT_INT((int64_t)d->session->skills.count) };

	if (policy->has_standard_prompt)
		a.system_prompt = AR_STR(AR_STANDARD_PROMPT);
	else if (!ar_str_empty(policy->system_prompt))
		a.system_prompt = AR_STR("host");
	if (own && !ar_str_absent(own->ref))
		a.instructions_file = own->file;
	else if (is_host)
		a.instructions_file = policy->instructions_file;
	return a;
}

/* What a turn runs with, so that it can be explained and repeated. */
struct ar_str ar_turn_input(struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_policy *policy = d->input->policy;
	const struct ar_shape_turn_options *options = ar_turn_options(turn);
	const struct ar_shape_prompt_augmentation augmentation = augmentation_of(d);
	bool may_fall_back = options->fallback ? options->fallback == AR_TURN_OPTIONS_FALLBACK_ALLOW
					       : policy->may_fall_back;
	const struct ar_shape_input_routing routing = { .model = options->model,
							.fallback = AR_OPT_BOOL(may_fall_back),
							.models = AR_OPT_INT((int64_t)policy->model_count) };
	const struct ar_shape_input_tool_policy tools = { .mode = ar_str_from(ar_permission_mode_of(d, turn)),
							  .policy_ref = d->session->policy_ref,
							  .rules = AR_OPT_INT(
								  (int64_t)d->session->rules.count),
							  .offered = AR_OPT_BOOL(options->tools.at != NULL) };
	const struct ar_shape_input_snapshot snapshot = {
		.input_ref = turn->input_ref,
		.workspace_id = d->session->workspace,
		.options = options,
		.prompt_augmentation = &augmentation,
		.routing = &routing,
		.tool_policy = &tools,
		.sandbox_profile =
			ar_str_from(ar_sandbox_name(ar_profile_of_turn(d->session, policy, options))),
		.has_output_schema = AR_OPT_BOOL(!ar_str_absent(options->output_schema)),
		.metadata = turn->origin.metadata,
	};

	return ar_decide_content(d, ar_decide_shape(d, &ar_shape_input_snapshot_desc, &snapshot));
}
