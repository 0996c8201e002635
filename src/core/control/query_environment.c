/* get_execution_environment: where commands of a session run, inside which boundary, what that
 * guarantees and what it does not, which processes there are, and what a restart would find of them. */
#include "action/action.h"
#include "control_priv.h"
#include "hook.h"
#include "output/outputs.h"
#include "permission/permission.h"
#include "projection.h"

/* ---- the parts; lists are in the call's arena ---- */

/* Where the calls of a session run. */
struct machine {
	const struct ar_sandbox_host *host; /* NULL: it enforces nothing, or that is not known */
	bool is_worker;
};

static struct machine machine_of(struct ar_call *c, const struct ar_session *s,
				 const struct ar_policy *policy)
{
	if (ar_str_absent(ar_session_worker(s)))
		return (struct machine){ .host = ar_session_sandbox(s, policy) };
	return (struct machine){ .host = ar_worker_sandbox(c, s), .is_worker = true };
}

static struct ar_shape_sandbox_state standing(const struct machine *m, enum ar_sandbox_profile profile)
{
	const struct ar_sandbox_standing *s = m->host ? &m->host->profiles[profile] : NULL;
	struct ar_shape_sandbox_state state = { .profile = ar_str_from(ar_sandbox_name(profile)),
						.is_available = s && s->is_available };

	if (!s)
		state.reason = m->is_worker ? AR_STR("the worker has not said yet what it can enforce")
					    : AR_STR("this runtime has no sandbox, because no workspace is "
						     "set; set tools.workspace");
	if (s && !s->is_available) {
		state.reason = s->reason;
		state.remedy = s->remedy;
	}
	return state;
}

static struct ar_shape_sandbox_state in_force(const struct machine *m, enum ar_sandbox_profile profile)
{
	struct ar_shape_sandbox_state state = standing(m, profile);

	if (m->host && !ar_str_empty(m->host->profiles[profile].guarantees))
		state.guarantees = m->host->profiles[profile].guarantees;
	return state;
}

static struct ar_shape_sandbox_state_list profiles(struct ar_call *c, const struct machine *m)
{
	struct ar_shape_sandbox_state *list = ar_arena_alloc(&c->arena, AR_SANDBOX_COUNT * sizeof(*list));

	for (int i = 1; i < AR_SANDBOX_COUNT; i++)
		list[i - 1] = standing(m, (enum ar_sandbox_profile)i);
	return (struct ar_shape_sandbox_state_list){ list, AR_SANDBOX_COUNT - 1 };
}

static bool is_of(const struct ar_process_record *p, const struct ar_cmd_get_execution_environment_in *in)
{
	return (ar_str_absent(in->thread_id) || ar_str_eq(p->thread, in->thread_id)) &&
	       (ar_str_absent(in->turn_id) || ar_str_eq(p->turn, in->turn_id));
}

static struct ar_shape_process_record_list active(struct ar_call *c, const struct ar_session *s)
{
	struct ar_shape_process_record *list =
		ar_arena_alloc(&c->arena, (s->processes.count + 1) * sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (p->status == AR_PROCESS_RUNNING && is_of(p, c->input))
			list[count++] = ar_projection_process(p);
	}
	return (struct ar_shape_process_record_list){ list, count };
}

/* ---- what a restart finds ---- */

static struct ar_shape_recovered_process_list by_status(struct ar_call *c, const struct ar_session *s,
							bool (*is_wanted)(int64_t status))
{
	static const struct ar_shape_process_output nothing;
	struct ar_shape_recovered_process *list =
		ar_arena_alloc(&c->arena, (s->processes.count + 1) * sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (is_wanted(p->status))
			list[count++] = (struct ar_shape_recovered_process){
				.process_id = p->id,
				.outputs = { p->outputs.count ? p->outputs.at : &nothing, p->outputs.count }
			};
	}
	return (struct ar_shape_recovered_process_list){ list, count };
}

static bool may_live(int64_t status)
{
	return status == AR_PROCESS_RUNNING;
}

static bool is_safe(int64_t status)
{
	return status != AR_PROCESS_RUNNING && status != AR_PROCESS_UNAVAILABLE;
}

static bool is_gone(int64_t status)
{
	return status == AR_PROCESS_UNAVAILABLE;
}

static struct ar_texts open_actions(struct ar_call *c, const struct ar_session *s)
{
	struct ar_str *ids = ar_arena_alloc(&c->arena, (s->actions.count + 1) * sizeof(*ids));
	size_t count = 0;

	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (a->status == AR_ACTION_PENDING)
			ids[count++] = a->id;
	}
	return (struct ar_texts){ ids, count };
}

/* ---- outputs ---- */

static struct ar_shape_output_policy output_policy(const struct ar_session *s, const struct ar_policy *policy)
{
	return (struct ar_shape_output_policy){
		.evidence = AR_OUTPUT_POLICY_EVIDENCE_COPY,
		.inlines_binary = false,
		.tool_result_bytes = policy->tool_result_bytes,
		.tool_result_keeps = AR_OUTPUT_POLICY_TOOL_RESULT_KEEPS_HEAD_TAIL,
		.hook_output_bytes = (int64_t)AR_HOOK_OUTPUT_MAX,
		.hook_keeps = AR_OUTPUT_POLICY_HOOK_KEEPS_HEAD,
		.stream_bytes = policy->process_output_bytes,
		.stream_tail_bytes = policy->process_output_bytes / 4,
		.stream_keeps = AR_OUTPUT_POLICY_STREAM_KEEPS_HEAD_TAIL,
		.preview_bytes = AR_OUTPUT_PREVIEW_MAX,
		.event_bytes = AR_EVENT_BYTES,
		.lifetime_seconds = ar_output_seconds(s, policy),
		.lifetime_outputs = AR_EXPIRING_MAX,
	};
}

/* ---- the answer ---- */

static void answer(struct ar_call *c, const struct ar_session *s, const struct ar_turn *turn)
{
	const struct ar_policy *policy = ar_engine_policy(c->control->engine);
	enum ar_sandbox_profile profile = ar_profile_of_turn(s, policy, ar_turn_options(turn));
	const struct ar_cmd_get_execution_environment_in *in = c->input;
	struct ar_str workspace = ar_session_folder_in(s, policy, turn ? turn->thread : in->thread_id);
	const struct machine machine = machine_of(c, s, policy);
	const struct ar_shape_sandbox_state own = in_force(&machine, profile);
	const struct ar_shape_output_policy outputs = output_policy(s, policy);
	struct ar_shape_turn_environment recorded;
	bool has_ladder = machine.host && !ar_str_empty(machine.host->ladder);
	const struct ar_shape_sandbox_standing sandbox = { .mode = own.profile,
							   .in_force = &own,
							   .profiles = profiles(c, &machine),
							   .ladder = has_ladder ? machine.host->ladder
										: AR_STR("[]") };
	const struct ar_shape_network_access network = { .access = ar_str_from(ar_profile_network(profile)),
							 .decided_by = AR_STR("sandbox profile") };
	const struct ar_cmd_get_execution_environment_out out = {
		.cwd = ar_str_absent(workspace) ? AR_STR("") : workspace,
		.workspace_roots = { &workspace, !ar_str_empty(workspace) },
		.sandbox = &sandbox,
		.network = &network,
		.process_limits = &(struct ar_shape_process_limits){ .timeout_ms = policy->tool_ms,
								     .output_bytes_per_stream =
									     policy->process_output_bytes,
								     .grace_ms = policy->process_grace_ms },
		.active_processes = active(c, s),
		.workspace_id = s->workspace,
		.additional_roots = ar_texts_empty,
		.shell = policy->shell,
		.os = machine.is_worker ? AR_STR_NONE : policy->os,
		.arch = machine.is_worker ? AR_STR_NONE : policy->arch,
		.env_ref = s->environment_ref,
		.sandbox_profile = &sandbox,
		.network_profile = &network,
		.resource_limits = ar_str_absent(s->limits) ? AR_STR("{}") : s->limits,
		.recovery = &(struct ar_shape_process_recovery){ .may_be_alive = by_status(c, s, may_live),
								 .output_is_safe = by_status(c, s, is_safe),
								 .beyond_recovery = by_status(c, s, is_gone),
								 .open_actions = open_actions(c, s) },
		.as_of_sequence = AR_OPT_INT((int64_t)s->head),
		.turn_environment = ar_projection_turn_environment(s, turn, &recorded) ? &recorded : NULL,
		.output_policy = &outputs,
	};
	struct ar_jw w = ar_jw(&c->reply);

	ar_struct_encode(&ar_command_describe(c->command)->out, &out, AR_STR_NONE, &w);
	ar_call_done(c, 200);
}

static void on_view(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	const struct ar_cmd_get_execution_environment_in *in = c->input;
	struct ar_thread *t;
	const struct ar_turn *turn = NULL;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (!ar_str_absent(in->turn_id))
		turn = ar_session_turn(s, in->turn_id, &t);
	if ((!ar_str_absent(in->turn_id) && !turn) ||
	    (!ar_str_absent(in->thread_id) && !ar_session_thread(s, in->thread_id))) {
		ar_call_refuse(c, AR_ERR_SCOPE_NOT_FOUND, "session %.*s has no such thread or turn",
			       AR_STR_ARG(s->id));
		return;
	}
	answer(c, s, turn);
}

void ar_query_get_execution_environment(struct ar_call *c)
{
	const struct ar_cmd_get_execution_environment_in *in = c->input;
	const struct ar_str ids[] = { in->session_id, in->thread_id, in->turn_id };
	struct ar_str *session_key = &c->work->view.session;

	c->work->view.done = on_view;
	*session_key = AR_STR_NONE;
	for (size_t i = 0; i < AR_ARRAY_LEN(ids) && ar_str_absent(*session_key); i++)
		*session_key = ar_str_absent(ids[i]) ? AR_STR_NONE : ar_id_session_key(ids[i]);
	if (ar_str_absent(*session_key)) {
		ar_call_refuse(c, AR_ERR_SCOPE_NOT_FOUND,
			       "send sessionId, or the id of a thread or turn that the runtime generated");
		return;
	}
	ar_call_look(c);
}
