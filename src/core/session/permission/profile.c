/* Which boundary a call runs in: the host's, a stricter one of the turn or the call, or more
 * when somebody grants it. A profile that this host cannot enforce is never replaced by another.
 * Pure. */
#include "decide.h"
#include "permission/permission.h"
#include "process/record.h"
#include "worker/worker.h"

_Static_assert((int)AR_SANDBOX_READ_ONLY == (int)AR_TURN_OPTIONS_SANDBOX_READ_ONLY &&
		       (int)AR_SANDBOX_DANGER_FULL_ACCESS == (int)AR_TURN_OPTIONS_SANDBOX_DANGER_FULL_ACCESS,
	       "options.sandbox of a turn is one of these");

/* What a profile allows; no_network only says aloud what workspace_write does. */
static const int ranks[AR_SANDBOX_COUNT] = { [AR_SANDBOX_READ_ONLY] = 1,
					     [AR_SANDBOX_WORKSPACE_WRITE] = 2,
					     [AR_SANDBOX_NO_NETWORK] = 2,
					     [AR_SANDBOX_ALLOWLISTED_NETWORK] = 3,
					     [AR_SANDBOX_DANGER_FULL_ACCESS] = 4 };

static enum ar_sandbox_profile host_profile(const struct ar_policy *policy)
{
	return policy->profile ? policy->profile : AR_SANDBOX_WORKSPACE_WRITE;
}

static struct ar_str member(struct ar_json_parser *parser, struct ar_str json, const char *name)
{
	struct ar_str text = AR_STR_NONE;
	struct ar_json v;

	if (!ar_str_absent(json) && ar_json_parse(parser, json, &v, NULL) == AR_OK)
		ar_json_str(ar_json_get(v, name), &text);
	return text;
}

/* ---- those that the workspace allows ---- */

static struct ar_texts allowed_in(const struct ar_session *s)
{
	return s->bound ? s->bound->allowed_profiles : (struct ar_texts){ 0 };
}

static bool is_allowed(struct ar_texts allowed, enum ar_sandbox_profile profile)
{
	return allowed.count == 0 || ar_texts_have(allowed, ar_str_from(ar_sandbox_name(profile)));
}

/* The profile itself, or the most that is allowed of what gives no more than it. The profile itself, too, if
 * all that are allowed give more: then it is refused, and nothing looser takes its place. */
static enum ar_sandbox_profile narrowed(struct ar_texts allowed, enum ar_sandbox_profile profile)
{
	enum ar_sandbox_profile best = 0;

	if (is_allowed(allowed, profile))
		return profile;
	for (size_t i = 0; i < allowed.count; i++) {
		enum ar_sandbox_profile p = ar_sandbox_find(allowed.at[i]);

		if (ranks[p] <= ranks[profile] && ranks[p] > ranks[best])
			best = p;
	}
	return best ? best : profile;
}

/* A looser one than the host's counts only where turns may loosen. */
static enum ar_sandbox_profile named_by_turn(const struct ar_policy *policy,
					     const struct ar_shape_turn_options *options)
{
	enum ar_sandbox_profile host = host_profile(policy),
				named = (enum ar_sandbox_profile)options->sandbox;

	if (options->network == AR_TURN_OPTIONS_NETWORK_DENIED && !named &&
	    ranks[host] > ranks[AR_SANDBOX_NO_NETWORK])
		return AR_SANDBOX_NO_NETWORK;
	if (!named || (ranks[named] > ranks[host] && !policy->may_loosen))
		return host;
	return named;
}

enum ar_sandbox_profile ar_profile_of_turn(const struct ar_session *s, const struct ar_policy *policy,
					   const struct ar_shape_turn_options *options)
{
	return narrowed(allowed_in(s), named_by_turn(policy, options));
}

bool ar_profile_of_servers(const struct ar_session *s, const struct ar_policy *policy,
			   enum ar_sandbox_profile *ret)
{
	enum ar_sandbox_profile host = host_profile(policy);

	if (host == AR_SANDBOX_DANGER_FULL_ACCESS)
		host = AR_SANDBOX_WORKSPACE_WRITE; /* nobody is asked about what they do */
	*ret = narrowed(allowed_in(s), host);
	return is_allowed(allowed_in(s), *ret);
}

const char *ar_profile_network(enum ar_sandbox_profile profile)
{
	return profile == AR_SANDBOX_DANGER_FULL_ACCESS	   ? "enabled"
	       : profile == AR_SANDBOX_ALLOWLISTED_NETWORK ? "rules"
							   : "restricted";
}

static void settle_standing(const struct ar_decision *d, struct ar_settled_profile *p)
{
	bool is_known;
	struct ar_sandbox_standing standing = ar_worker_standing(d, p->profile, &is_known);

	p->is_available = standing.is_available;
	if (p->is_available)
		return;
	p->reason = !ar_str_empty(standing.reason) ? standing.reason : AR_STR("no sandbox was set up here");
	p->remedy = !ar_str_empty(standing.remedy)
			    ? standing.remedy
			    : AR_STR("see what is missing with agentctl sandbox check");
}

/* What is done to a process that runs happens in the boundary that this one has. */
static bool settle_by_process(const struct ar_decision *d, const struct ar_act *act,
			      struct ar_settled_profile *p)
{
	const struct ar_process_record *process =
		ar_session_process(d->session, member(d->json, act->args, "processId"));

	if (act->tool->runs_process || !process)
		return false;
	p->profile = ar_sandbox_find(process->profile);
	p->is_available = true;
	return p->profile != 0;
}

/* What only reads gets no more than that. */
static enum ar_sandbox_profile own_profile(enum ar_sandbox_profile turn, const struct ar_tool *tool)
{
	return tool->is_read_only && turn != AR_SANDBOX_DANGER_FULL_ACCESS ? AR_SANDBOX_READ_ONLY : turn;
}

struct ar_settled_profile ar_profile_settle(struct ar_decision *d, const struct ar_turn *turn,
					    const struct ar_act *act)
{
	struct ar_settled_profile p = { 0 };
	enum ar_sandbox_profile asked;

	if (!act->tool || !act->tool->is_confined)
		return p;
	p.turn = ar_profile_of_turn(d->session, d->input->policy, ar_turn_options(turn));
	if (settle_by_process(d, act, &p))
		return p;
	asked = ar_sandbox_find(member(d->json, act->args, "sandbox"));
	p.profile = asked ? asked : own_profile(p.turn, act->tool);
	p.is_escalation = ranks[p.profile] > ranks[p.turn];
	p.adds_network = p.profile == AR_SANDBOX_ALLOWLISTED_NETWORK &&
			 (p.turn == AR_SANDBOX_WORKSPACE_WRITE || p.turn == AR_SANDBOX_NO_NETWORK);
	p.justification = ar_arena_str(d->arena, member(d->json, act->args, "justification"));
	p.is_forbidden =
		p.profile == AR_SANDBOX_DANGER_FULL_ACCESS &&
		(!d->input->policy->allow_danger || ar_session_is_apart(d->session, d->input->policy));
	p.allowed = allowed_in(d->session);
	/* What only reads gets no more than that without asking, whatever they are. */
	p.is_outside = !is_allowed(p.allowed, p.profile) &&
		       (asked || !act->tool->is_read_only || p.profile != AR_SANDBOX_READ_ONLY);
	settle_standing(d, &p);
	return p;
}

bool ar_profile_confines(const struct ar_settled_profile *p)
{
	return p->profile && p->is_available && p->profile != AR_SANDBOX_DANGER_FULL_ACCESS;
}

struct ar_str ar_profile_outside(struct ar_arena *a, enum ar_sandbox_profile profile, struct ar_texts allowed)
{
	struct ar_buf list = { 0 };
	struct ar_str text;

	for (size_t i = 0; i < allowed.count; i++)
		ar_buf_addf(&list, "%s%.*s", i > 0 ? ", " : "", AR_STR_ARG(allowed.at[i]));
	text = ar_arena_fmt(a, "sandbox %s is not allowed in this workspace, which allows %.*s",
			    ar_sandbox_name(profile), AR_STR_ARG(ar_buf_str(&list)));
	ar_buf_fini(&list);
	return text;
}

/* A new session has none of its own yet: it is the workspace that it is to be bound to. */
static struct ar_texts allowed_for(const struct ar_decision *d)
{
	const struct ar_shape_workspace_record *w = ar_decide_workspace(d);

	if (d->session->head > 0 || !w)
		return allowed_in(d->session);
	return w->allowed_profiles;
}

static enum ar_status check_allowed(const struct ar_decision *d, const struct ar_shape_turn_options *options,
				    struct ar_error *err)
{
	struct ar_texts allowed = allowed_for(d);
	enum ar_sandbox_profile named = (enum ar_sandbox_profile)options->sandbox,
				wanted = named_by_turn(d->input->policy, options);

	if (!named && options->network == AR_TURN_OPTIONS_NETWORK_DENIED)
		named = narrowed(allowed, wanted);
	if (!named || is_allowed(allowed, named))
		return AR_OK;
	return ar_refuse(err, AR_ERR_POLICY_DENIED, "%.*s",
			 AR_STR_ARG(ar_profile_outside(d->arena, named, allowed)));
}

enum ar_status ar_profile_check(const struct ar_decision *d, const struct ar_shape_turn_options *options,
				struct ar_error *err)
{
	enum ar_sandbox_profile profile = (enum ar_sandbox_profile)options->sandbox,
				host = host_profile(d->input->policy);

	if (check_allowed(d, options, err) != AR_OK)
		return AR_E_REFUSED;
	if (!profile)
		return AR_OK;
	if (options->network == AR_TURN_OPTIONS_NETWORK_DENIED &&
	    ranks[profile] > ranks[AR_SANDBOX_NO_NETWORK])
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "sandbox %s gives a network, and network denied takes it; leave one out",
				 ar_sandbox_name(profile));
	if (ranks[profile] > ranks[host] && !d->input->policy->may_loosen)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "sandbox %s is looser than the host's %s, which may only be tightened here "
				 "(permission.may_loosen)",
				 ar_sandbox_name(profile), ar_sandbox_name(host));
	if (profile == AR_SANDBOX_DANGER_FULL_ACCESS && !d->input->policy->allow_danger)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "sandbox danger_full_access is not allowed here (sandbox.allow_danger)");
	return AR_OK;
}
