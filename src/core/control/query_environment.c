/* get_execution_environment: where commands of a session run, inside which boundary, what that
 * guarantees and what it does not, which processes there are, and what a restart would find of them. */
#include "action/action.h"
#include "control_priv.h"
#include "permission/permission.h"
#include "projection.h"

/* ---- the parts, each a JSON text in the call's arena ---- */

struct text {
	struct ar_buf buf;
	struct ar_jw w;
};

static void begin(struct text *t)
{
	*t = (struct text){ 0 };
	t->w = ar_jw(&t->buf);
}

static struct ar_str end(struct ar_call *c, struct text *t)
{
	struct ar_str text = ar_arena_str(&c->arena, ar_buf_str(&t->buf));

	ar_buf_fini(&t->buf);
	return text;
}

static void standing(const struct ar_policy *policy, enum ar_sandbox_profile profile, bool is_whole,
		     struct ar_jw *w)
{
	const struct ar_sandbox_standing *s = policy->sandbox ? &policy->sandbox->profiles[profile] : NULL;

	ar_jw_open(w);
	ar_jw_mstr(w, "profile", ar_str_from(ar_sandbox_name(profile)));
	ar_jw_mbool(w, "isAvailable", s && s->is_available);
	if (!s)
		ar_jw_mstr(w, "reason",
			   AR_STR("this runtime confines nothing: it has no workspace to work in"));
	if (s && !s->is_available) {
		ar_jw_mstr(w, "reason", s->reason);
		ar_jw_mstr(w, "remedy", s->remedy);
	}
	if (s && is_whole && !ar_str_empty(s->guarantees))
		ar_jw_mraw(w, "guarantees", s->guarantees);
	ar_jw_close(w);
}

static struct ar_str sandbox(struct ar_call *c, const struct ar_policy *policy,
			     enum ar_sandbox_profile profile)
{
	struct text t;

	begin(&t);
	ar_jw_open(&t.w);
	ar_jw_mstr(&t.w, "mode", ar_str_from(ar_sandbox_name(profile)));
	ar_jw_key(&t.w, "inForce");
	standing(policy, profile, true, &t.w);
	ar_jw_key(&t.w, "profiles");
	ar_jw_open_array(&t.w);
	for (int i = 1; i < AR_SANDBOX_COUNT; i++)
		standing(policy, (enum ar_sandbox_profile)i, false, &t.w);
	ar_jw_close_array(&t.w);
	ar_jw_mraw(&t.w, "ladder",
		   policy->sandbox && !ar_str_empty(policy->sandbox->ladder) ? policy->sandbox->ladder
									     : AR_STR("[]"));
	ar_jw_close(&t.w);
	return end(c, &t);
}

static struct ar_str network(struct ar_call *c, enum ar_sandbox_profile profile)
{
	return ar_arena_fmt(&c->arena, "{\"access\":\"%s\",\"decidedBy\":\"sandbox profile\"}",
			    ar_profile_network(profile));
}

static struct ar_str limits(struct ar_call *c, const struct ar_policy *policy)
{
	struct text t;

	begin(&t);
	ar_jw_open(&t.w);
	ar_jw_mint(&t.w, "timeoutMs", policy->tool_ms);
	ar_jw_mint(&t.w, "outputBytesPerStream", policy->process_output_bytes);
	ar_jw_mint(&t.w, "graceMs", policy->process_grace_ms);
	ar_jw_close(&t.w);
	return end(c, &t);
}

static bool is_of(const struct ar_process_record *p, const struct ar_cmd_get_execution_environment_in *in)
{
	return (ar_str_absent(in->thread_id) || ar_str_eq(p->thread, in->thread_id)) &&
	       (ar_str_absent(in->turn_id) || ar_str_eq(p->turn, in->turn_id));
}

static struct ar_str active(struct ar_call *c, const struct ar_session *s)
{
	struct text t;

	begin(&t);
	ar_jw_open_array(&t.w);
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (p->status == AR_PROCESS_RUNNING && is_of(p, c->input))
			ar_projection_process(p, &t.w);
	}
	ar_jw_close_array(&t.w);
	return end(c, &t);
}

/* ---- what a restart finds ---- */

static void by_status(const struct ar_session *s, const char *name, bool (*is_wanted)(int64_t status),
		      struct ar_jw *w)
{
	ar_jw_key(w, name);
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (!is_wanted(p->status))
			continue;
		ar_jw_open(w);
		ar_jw_mstr(w, "processId", p->id);
		ar_jw_mraw(w, "outputs", ar_str_absent(p->outputs) ? AR_STR("[]") : p->outputs);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
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

static struct ar_str recovery(struct ar_call *c, const struct ar_session *s)
{
	struct text t;

	begin(&t);
	ar_jw_open(&t.w);
	by_status(s, "mayBeAlive", may_live, &t.w);
	by_status(s, "outputIsSafe", is_safe, &t.w);
	by_status(s, "beyondRecovery", is_gone, &t.w);
	ar_jw_key(&t.w, "openActions");
	ar_jw_open_array(&t.w);
	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (a->status == AR_ACTION_PENDING)
			ar_jw_str(&t.w, a->id);
	}
	ar_jw_close_array(&t.w);
	ar_jw_close(&t.w);
	return end(c, &t);
}

/* ---- the answer ---- */

static struct ar_str roots(struct ar_call *c, struct ar_str workspace)
{
	struct text t;

	begin(&t);
	ar_jw_open_array(&t.w);
	if (!ar_str_empty(workspace))
		ar_jw_str(&t.w, workspace);
	ar_jw_close_array(&t.w);
	return end(c, &t);
}

static void answer(struct ar_call *c, const struct ar_session *s, const struct ar_turn *turn)
{
	const struct ar_policy *policy = ar_engine_policy(c->control->engine);
	enum ar_sandbox_profile profile = ar_profile_of_turn(policy, ar_turn_options(turn));
	struct ar_str workspace = ar_session_workspace(s, policy);
	struct ar_cmd_get_execution_environment_out out = {
		.cwd = ar_str_absent(workspace) ? AR_STR("") : workspace,
		.workspace_roots = roots(c, workspace),
		.sandbox = sandbox(c, policy, profile),
		.network = network(c, profile),
		.process_limits = limits(c, policy),
		.active_processes = active(c, s),
		.workspace_id = s->workspace,
		.additional_roots = AR_STR("[]"),
		.shell = policy->shell,
		.os = policy->os,
		.arch = policy->arch,
		.env_ref = s->environment_ref,
		.resource_limits = ar_str_absent(s->limits) ? AR_STR("{}") : s->limits,
		.recovery = recovery(c, s),
		.as_of_sequence = AR_OPT_INT((int64_t)s->head),
	};
	struct ar_jw w = ar_jw(&c->reply);

	out.sandbox_profile = out.sandbox;
	out.network_profile = out.network;
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
			       "name the session, or a thread or turn whose id the runtime gave");
		return;
	}
	ar_call_look(c);
}
