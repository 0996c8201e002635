/* Which model answers a turn: decided once, before its first request, in facts that explain it.
 * What follows a failure is decide_fallback.c's. Pure. */
#include "describe.h"
#include "limits/limits.h"
#include "task/task.h"

#define NAMES_MAX 256 /* bytes of the names of models in a reason */

#define LIST_MAX 80 /* bytes of names in a refusal */

/* What a turn says about its model, and what follows from it. */
struct profile {
	struct ar_need need;
	int latency, budget, fallback;
	bool is_explicit; /* the turn says something about it */
	bool is_session; /* the session's policy names the model */
};

#define SAME(one, other) ((int)AR_TURN_OPTIONS_##one == (int)AR_TASK_PROFILE_RESOLVED_##other)
_Static_assert(SAME(LATENCY_BATCH, LATENCY_TARGET_BATCH) &&
		       SAME(BUDGET_CLASS_UNKNOWN, BUDGET_CLASS_UNKNOWN) &&
		       SAME(FALLBACK_HOST_ONLY, FALLBACK_POLICY_HOST_ONLY),
	       "the options of a turn have the words of its profile");

/* ---- before a turn is taken ---- */

/* Names of the configured models, as many as a sentence holds. */
static struct ar_str list_models(const struct ar_decision *d)
{
	const struct ar_policy *policy = d->input->policy;
	struct ar_str list = AR_STR("");

	for (size_t i = 0; i < policy->model_count; i++) {
		struct ar_str name = policy->models[i].name;

		if (list.len + name.len > LIST_MAX)
			return ar_arena_fmt(d->arena, "%.*s and %zu more", AR_STR_ARG(list),
					    policy->model_count - i);
		list = ar_arena_fmt(d->arena, "%.*s%s%.*s", AR_STR_ARG(list), i ? ", " : "",
				    AR_STR_ARG(name));
	}
	return list;
}

static enum ar_status unknown_model(const struct ar_decision *d, struct ar_str model, struct ar_error *err)
{
	const struct ar_policy *policy = d->input->policy;
	struct ar_meant near = ar_meant(model);
	struct ar_str meant;

	for (size_t i = 0; i < policy->model_count; i++)
		ar_meant_try(&near, policy->models[i].name);
	meant = ar_str_absent(near.found) ? AR_STR("")
					  : ar_arena_fmt(d->arena, " did you mean '%.*s'?",
							 AR_STR_ARG(ar_str_utf8_prefix(near.found, 64)));
	return ar_refuse(err, AR_ERR_INVALID_INPUT, "no model '%.*s' is configured;%.*s configured are: %.*s",
			 AR_STR_ARG(ar_str_utf8_prefix(model, 32)), AR_STR_ARG(meant),
			 AR_STR_ARG(list_models(d)));
}

enum ar_status ar_route_check(const struct ar_decision *d, const struct ar_shape_turn_options *options,
			      struct ar_error *err)
{
	const struct ar_policy *policy = d->input->policy;

	for (size_t i = 0; i < options->capabilities.count; i++) {
		struct ar_str word = options->capabilities.at[i];

		if (!ar_routing_capability(word))
			return ar_refuse(err, AR_ERR_INVALID_INPUT,
					 "options.capabilities: there is no '%.*s'; use vision, tools, json "
					 "or reasoning",
					 AR_STR_ARG(ar_str_utf8_prefix(word, 32)));
	}
	if (policy->model_count == 0 || ar_str_empty(options->model) ||
	    ar_routing_find(policy->models, policy->model_count, options->model).entry)
		return AR_OK;
	return unknown_model(d, options->model, err);
}

/* ---- what a turn needs ---- */

/* What was shown stays in the conversation, so every later request of the thread carries it as well. */
static bool has_images(const struct ar_thread *t, const struct ar_turn *turn)
{
	bool found = turn->has_images.v;

	for (size_t i = 0; !found && i < t->turns.count; i++) {
		const struct ar_turn *earlier = t->turns.at[i];

		found = earlier->has_images.v && earlier->start.set && !earlier->removed.v;
	}
	return found;
}

static struct profile profile_of(struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_shape_turn_options *options = ar_turn_options(turn);
	struct profile p = { .latency = options->latency, .budget = options->budget_class };
	int fallback = d->input->policy->may_fall_back ? AR_TASK_PROFILE_RESOLVED_FALLBACK_POLICY_ALLOW
						       : AR_TASK_PROFILE_RESOLVED_FALLBACK_POLICY_DENY;

	if (!p.latency)
		p.latency = AR_TASK_PROFILE_RESOLVED_LATENCY_TARGET_INTERACTIVE;
	if (!p.budget)
		p.budget = AR_TASK_PROFILE_RESOLVED_BUDGET_CLASS_UNKNOWN;
	p.fallback = options->fallback ? options->fallback : fallback;
	p.is_session = ar_str_empty(options->model) && d->session->preset &&
		       !ar_str_empty(d->session->preset->model);
	if (p.is_session)
		p.need.model = d->session->preset->model;
	else if (!ar_str_empty(options->model))
		p.need.model = options->model;
	if (!ar_str_absent(options->output_schema))
		p.need.capabilities |= AR_CAN_JSON;
	for (size_t i = 0; i < options->capabilities.count; i++)
		p.need.capabilities |= ar_routing_capability(options->capabilities.at[i]);
	if (ar_offers_of(d, turn).count > 0)
		p.need.capabilities |= AR_CAN_TOOLS;
	if (has_images(ar_decide_thread(d, turn), turn))
		p.need.capabilities |= AR_CAN_VISION;
	p.need.is_frugal = p.budget == AR_TASK_PROFILE_RESOLVED_BUDGET_CLASS_LOW;
	p.is_explicit =
		!ar_str_absent(p.need.model) || p.fallback != fallback || options->capabilities.count > 0;
	p.need.is_local_only = p.fallback == AR_TASK_PROFILE_RESOLVED_FALLBACK_POLICY_LOCAL_ONLY;
	p.need.may_fall_back = p.fallback != AR_TASK_PROFILE_RESOLVED_FALLBACK_POLICY_DENY &&
			       p.fallback != AR_TASK_PROFILE_RESOLVED_FALLBACK_POLICY_ASK;
	return p;
}

/* ---- the facts ---- */

static void say_profile(struct ar_decision *d, const struct ar_turn *turn, const struct profile *p)
{
	ar_turn_emit(d, turn, AR_EV_TASK_PROFILE_RESOLVED,
		     &(struct ar_ev_task_profile_resolved){
			     .kind = AR_STR("chat"),
			     .source = turn->source,
			     .required_capabilities = ar_routing_capabilities(d, p->need.capabilities),
			     .latency_target = p->latency,
			     .budget_class = p->budget,
			     .fallback_policy = p->fallback,
			     .settings_source = p->is_explicit ? AR_STR("explicit") : AR_STR("automatic") });
}

static void say_candidates(struct ar_decision *d, const struct ar_turn *turn, const struct profile *p,
			   const struct ar_routing *r)
{
	const struct ar_shape_route_preference model = { .model = p->need.model };
	const struct ar_shape_route_gaps gaps = ar_routing_gaps(r);

	ar_turn_emit(d, turn, AR_EV_ROUTING_CANDIDATES_RESOLVED,
		     &(struct ar_ev_routing_candidates_resolved){
			     .candidate_count = (int64_t)r->usable,
			     .candidates = ar_routing_candidates(d, r),
			     .excluded = ar_routing_excluded(d, r),
			     .hard_constraints = ar_routing_constraints(d, &p->need),
			     .preferences = { &model, !ar_str_absent(model.model) },
			     .single_candidate = r->usable == 1,
			     .gaps = &gaps });
}

/* Why the model that the turn names is not the one; absent when it is, or when it names none. */
static struct ar_str refusal(struct ar_decision *d, const struct profile *p, const struct ar_routing *r)
{
	if (ar_str_absent(p->need.model))
		return AR_STR_NONE;
	if (!r->requested)
		return ar_arena_fmt(d->arena, "%.*s is not configured", AR_STR_ARG(p->need.model));
	if (r->requested->why_not == AR_EXCLUSION_NONE)
		return AR_STR_NONE;
	return ar_arena_fmt(d->arena, "%.*s is left out: %s", AR_STR_ARG(p->need.model),
			    ar_exclusion_word[r->requested->why_not]);
}

struct verdict {
	struct ar_str source, reason;
};

/* Why a model that is named is the one: the task or the turn names it. */
static struct ar_str named_by(struct ar_decision *d, const struct ar_turn *turn, struct ar_str model)
{
	const struct ar_task *task = ar_task_executed_by(d, turn);

	if (!task || !ar_str_eq(ar_task_constraints(task)->model, model))
		return AR_STR("the turn names it");
	return ar_arena_fmt(d->arena, "its task names it%.*s", AR_STR_ARG(ar_task_cite(d, turn, "model")));
}

static struct verdict verdict_of(struct ar_decision *d, const struct ar_turn *turn, const struct profile *p,
				 const struct ar_routing *r)
{
	struct ar_str no = refusal(d, p, r);

	if (!ar_str_absent(no))
		return (struct verdict){ AR_STR("runtime_fallback"),
					 ar_arena_fmt(d->arena, "%.*s; this is the first that can answer",
						      AR_STR_ARG(no)) };
	if (p->is_session)
		return (struct verdict){ AR_STR("session"), AR_STR("the policy of the session names it") };
	if (!ar_str_absent(p->need.model))
		return (struct verdict){ AR_STR("explicit"), named_by(d, turn, p->need.model) };
	if (r->usable == 1)
		return (struct verdict){ AR_STR("policy_auto"), AR_STR("the only one that can answer") };
	if (p->need.is_frugal)
		return (struct verdict){ AR_STR("task_preference"),
					 AR_STR("the cheapest of those that can answer") };
	return (struct verdict){ AR_STR("host_policy"), AR_STR("first in the configured order") };
}

/* What the turn needs and the model that was asked for lacks. Of one that nobody described it is
 * not known. */
static struct ar_str gap_of(struct ar_decision *d, const struct profile *p, const struct ar_routing *r)
{
	if (r->requested && r->requested->missing)
		return ar_routing_words(d, r->requested->missing);
	return p->need.capabilities && r->choice.entry->is_undeclared ? AR_STR("unknown") : AR_STR("none");
}

static void say_single(struct ar_decision *d, const struct ar_turn *turn, const struct profile *p,
		       const struct ar_routing *r, const struct verdict *v)
{
	const struct ar_shape_route_cost cost = { .state = ar_routing_price(r->choice.entry) };
	const struct ar_shape_route_limit limit = ar_routing_limits(d, &r->choice);

	ar_turn_emit(d, turn, AR_EV_ROUTING_SINGLE_CANDIDATE,
		     &(struct ar_ev_routing_single_candidate){ .candidate_count = 1,
							       .selected_model = r->choice.name,
							       .decision_source = v->source,
							       .decision_reason = v->reason,
							       .capability_gap = gap_of(d, p, r),
							       .cost_state = &cost,
							       .limit_state = &limit,
							       .task_kind = AR_STR("chat") });
}

static void say_decided(struct ar_decision *d, const struct ar_turn *turn, const struct profile *p,
			const struct ar_routing *r, const struct verdict *v)
{
	const struct ar_shape_route_limit limit = ar_routing_limits(d, &r->choice);

	ar_turn_emit(d, turn, AR_EV_ROUTING_DECIDED,
		     &(struct ar_ev_routing_decided){
			     .routing_mode = r->usable == 1 ? AR_ROUTING_DECIDED_ROUTING_MODE_SINGLE_CANDIDATE
							    : AR_ROUTING_DECIDED_ROUTING_MODE_MULTI_CANDIDATE,
			     .decision_source = v->source,
			     .decision_reason = v->reason,
			     .selected_provider = r->choice.entry->provider,
			     .selected_model = r->choice.name,
			     .requested_provider = r->requested ? r->requested->entry->provider : AR_STR(""),
			     .requested_model = ar_str_absent(p->need.model) ? AR_STR("") : p->need.model,
			     .candidate_count = (int64_t)r->usable,
			     .fallback_chain =
				     p->need.may_fall_back ? ar_routing_chain(d, r) : (struct ar_texts){ 0 },
			     .capability_gap = gap_of(d, p, r),
			     .limit_state_snapshot = &limit });
}

/* ---- nobody can answer ---- */

static void no_model(struct ar_decision *d, struct ar_turn *turn)
{
	ar_decide_fail(
		d, turn,
		&(struct ar_ending){
			.status = AR_TURN_FAILED_STATUS_FAILED,
			.category = AR_STR("no_model_configured"),
			.message = AR_STR("no model is configured"),
			.advice = AR_STR(
				"set OPENAI_BASE_URL (or OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY) "
				"or model.base_url in the configuration, end the running daemon "
				"(`agentctl stop`), submit again"),
			.retryable = true });
}

static bool lacks_only_credentials(const struct ar_routing *r)
{
	for (size_t i = 0; i < r->count; i++) {
		if (r->all[i].why_not != AR_EXCLUSION_CREDENTIAL)
			return false;
	}
	return r->count > 0;
}

/* The models whose keys are missing. */
static struct ar_str names_of(struct ar_decision *d, const struct ar_routing *r)
{
	struct ar_buf names = { 0 };
	struct ar_str text;

	for (size_t i = 0; i < r->count; i++)
		ar_buf_addf(&names, "%s%.*s", i > 0 ? ", " : "", AR_STR_ARG(r->all[i].entry->name));
	text = ar_arena_str(d->arena, ar_str_utf8_prefix(ar_buf_str(&names), NAMES_MAX));
	ar_buf_fini(&names);
	return text;
}

/* The operator can give keys, so the turn waits for that; nothing of it is lost. */
static void wait_for_operator(struct ar_decision *d, const struct ar_turn *turn, const struct ar_routing *r,
			      struct ar_str reason)
{
	struct ar_ids ids = ar_ids_turn(d, turn);

	ar_decide_emit(d, AR_EV_TASK_ATTEMPT_FAILED, &ids,
		       &(struct ar_ev_task_attempt_failed){
			       .status = AR_TASK_ATTEMPT_FAILED_STATUS_FAILED,
			       .retryable = true,
			       .failure_category = AR_STR(AR_REASON_NO_CANDIDATE),
			       .last_error =
				       &(struct ar_shape_failure){
					       .category = AR_STR(AR_REASON_NO_CANDIDATE),
					       .message = reason,
					       .retryable = AR_OPT_BOOL(true),
					       .recovery_advice =
						       AR_STR("give a model its key and start agentd "
							      "again") },
			       .next_attempt_policy = AR_STR("resume_thread"),
			       .ended_at = d->input->now });
	ar_decide_emit(d, AR_EV_TASK_WAITING, &ids,
		       &(struct ar_ev_task_waiting){
			       .wait_for = AR_TASK_WAITING_WAIT_FOR_RESOURCE,
			       .status = AR_TASK_WAITING_STATUS_WAITING_RESOURCE,
			       .status_reason = ar_arena_fmt(
				       d->arena,
				       "%.*s (%.*s); give a model its key and start agentd again: "
				       "the turn then goes on, interrupt_turn ends it",
				       AR_STR_ARG(reason), AR_STR_ARG(names_of(d, r))) });
	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_BLOCKED, AR_REASON_NO_CANDIDATE,
			 "waiting_resource", turn);
}

static struct ar_str why_not_possible(struct ar_decision *d, const struct profile *p,
				      const struct ar_routing *r)
{
	struct ar_str no = refusal(d, p, r);

	if (r->count == 0)
		return AR_STR("no model is configured");
	if (lacks_only_credentials(r))
		return AR_STR("no model has a key");
	if (r->usable > 0)
		return ar_arena_fmt(d->arena, "%.*s, and the turn lets no other model answer",
				    AR_STR_ARG(no));
	if (p->need.is_local_only)
		return AR_STR("no local model can answer");
	return ar_arena_fmt(d->arena, "no model can do what the turn needs: %.*s",
			    AR_STR_ARG(ar_routing_words(d, p->need.capabilities)));
}

static void not_possible(struct ar_decision *d, struct ar_turn *turn, const struct profile *p,
			 const struct ar_routing *r)
{
	struct ar_str reason = why_not_possible(d, p, r);

	ar_turn_emit(d, turn, AR_EV_ROUTING_NOT_POSSIBLE,
		     &(struct ar_ev_routing_not_possible){ .reason = reason,
							   .excluded = ar_routing_excluded(d, r),
							   .hard_constraints =
								   ar_routing_constraints(d, &p->need),
							   .requires_user_override = r->usable > 0 });
	if (r->count == 0)
		no_model(d, turn);
	else if (lacks_only_credentials(r))
		wait_for_operator(d, turn, r, reason);
	else
		ar_decide_fail(d, turn,
			       &(struct ar_ending){ .status = AR_TURN_FAILED_STATUS_FAILED,
						    .category = AR_STR(AR_REASON_NO_CANDIDATE),
						    .message = reason,
						    .advice =
							    AR_STR("name another model or ask for less, then "
								   "submit the turn again") });
}

/* ---- deciding ---- */

static enum ar_hold decide_anew(struct ar_decision *d, struct ar_turn *turn, int64_t bytes,
				struct ar_choice *ret)
{
	const struct ar_policy *policy = d->input->policy;
	struct profile p = profile_of(d, turn);
	struct ar_routing r =
		ar_route_resolve(&(struct ar_model_set){ policy->models, policy->model_count,
							 &d->session->throttles, d->input->now },
				 &p.need, d->arena);
	struct verdict v;

	say_profile(d, turn, &p);
	say_candidates(d, turn, &p, &r);
	if (!r.choice.entry) {
		not_possible(d, turn, &p, &r);
		return AR_HELD;
	}
	v = verdict_of(d, turn, &p, &r);
	if (r.usable == 1)
		say_single(d, turn, &p, &r, &v);
	if (r.usable > 1 || ar_str_is(v.source, "runtime_fallback"))
		say_decided(d, turn, &p, &r, &v);
	*ret = r.choice;
	ar_limits_estimate(d, turn, ret, bytes);
	return AR_GO_ON;
}

enum ar_hold ar_limits_route(struct ar_decision *d, struct ar_turn *turn, int64_t request_bytes,
			     struct ar_choice *ret)
{
	const struct ar_policy *policy = d->input->policy;

	*ret = (struct ar_choice){ 0 };
	if (turn->route && !ar_str_absent(turn->route->model))
		*ret = ar_routing_find(policy->models, policy->model_count, turn->route->model);
	/* After a restart the model that was chosen may be gone from the configuration. */
	return ret->entry ? AR_GO_ON : decide_anew(d, turn, request_bytes, ret);
}
