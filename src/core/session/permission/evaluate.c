/* evaluate_permission: what the policy says about an act that is only described, or what stands
 * about one that is on record. Nothing is asked and nothing runs; hints and the caller's own
 * opinion are not heard. Pure. */
#include "action/action.h"
#include "decide.h"
#include "describe.h"
#include "closed/closed_group.h"
#include "permission/permission.h"
#include "process/record.h"

#define ACT_NAME_MAX 64 /* of a tool that is not there, inside our sentence */

/* ---- what is on record ---- */

/* The call that it is about; absent: there is no such thing. */
static struct ar_str call_of(const struct ar_session *s, const struct ar_cmd_evaluate_permission_in *in)
{
	const struct ar_process_record *p;
	const struct ar_action *a;

	if (!ar_str_absent(in->tool_call_id))
		return in->tool_call_id;
	if (!ar_str_absent(in->action_id)) {
		a = ar_session_action(s, in->action_id);
		return a ? a->call : AR_STR_NONE;
	}
	p = ar_session_process(s, in->process_id);
	return p ? p->call : AR_STR_NONE;
}

static const struct ar_judged *find_judged(const struct ar_session *s, struct ar_str call)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];
		const struct ar_judged *judged =
			ar_vec_last_with(&t->judged, offsetof(struct ar_judged, call), call);

		if (judged)
			return judged;
	}
	return ar_closed_groups_seek(s, call) ? find_judged(s, call) : NULL;
}

/* The question about it that is still open; absent: none is. */
static struct ar_str open_question(const struct ar_session *s, struct ar_str call)
{
	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (a->resolved == 0 && ar_action_is_about_call(a->type) && ar_str_eq(a->call, call))
			return a->id;
	}
	return AR_STR_NONE;
}

static enum ar_status answer_recorded(struct ar_decision *d, const struct ar_cmd_evaluate_permission_in *in,
				      struct ar_error *err)
{
	struct ar_str call = call_of(d->session, in);
	const struct ar_judged *judged = ar_str_absent(call) ? NULL : find_judged(d->session, call);
	struct ar_invocation *known;
	struct ar_thread *thread;
	int decision;

	if (!judged && !ar_str_absent(call) && ar_session_call(d->session, call, &known, &thread))
		return ar_refuse(err, AR_ERR_POLICY_UNAVAILABLE,
				 "call %.*s has not been evaluated yet; repeat in a moment",
				 AR_STR_ARG(call));
	if (!judged)
		return ar_refuse(err, AR_ERR_SCOPE_NOT_FOUND,
				 "there is no decision about it in memory; see permission.evaluated in the "
				 "log, or send the act");
	decision = ar_enum_find(&ar_evaluate_permission_decision_desc, judged->verdict);
	ar_decide_reply(d, AR_CMD_EVALUATE_PERMISSION,
			&(struct ar_cmd_evaluate_permission_out){ .decision = decision ? decision : AR_DENY,
								  .decision_source = judged->source,
								  .decision_reason = judged->reason,
								  .approval_action_id =
									  open_question(d->session, call) });
	return AR_OK;
}

/* ---- what is described ---- */

static const struct ar_turn *newest_turn(const struct ar_session *s)
{
	const struct ar_turn *newest = NULL;

	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		for (size_t k = 0; k < t->turns.count; k++) {
			const struct ar_turn *turn = t->turns.at[k];

			if (!ar_turn_is_system(turn) && (!newest || turn->submitted >= newest->submitted))
				newest = turn;
		}
	}
	return newest;
}

static enum ar_status find_turn(const struct ar_decision *d, struct ar_str id, const struct ar_turn **ret,
				struct ar_error *err)
{
	struct ar_thread *thread;

	*ret = ar_str_absent(id) ? newest_turn(d->session) : ar_session_turn(d->session, id, &thread);
	if (*ret)
		return AR_OK;
	return ar_refuse(err, AR_ERR_SCOPE_NOT_FOUND,
			 ar_str_absent(id) ? "session %.*s has no turn that the act could belong to"
					   : "session %.*s has no such turn",
			 AR_STR_ARG(d->session->id));
}

static enum ar_status read_act(const struct ar_shape_act *said, struct ar_act *ret, struct ar_error *err)
{
	if (ar_str_empty(said->tool_name))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "an act is {\"toolName\": text, \"arguments\": object}");
	ret->name = said->tool_name;
	ret->args = ar_str_absent(said->arguments) ? AR_STR("{}") : said->arguments;
	return AR_OK;
}

static enum ar_status find_tool(struct ar_decision *d, const struct ar_turn *turn, struct ar_act *act,
				struct ar_error *err)
{
	struct ar_offers offers = ar_offers_of(d, turn);

	act->tool = ar_offers_find(&offers, act->name);
	if (act->tool)
		return AR_OK;
	return ar_refuse(err, AR_ERR_SCOPE_NOT_FOUND,
			 "turn %.*s has no tool '%.*s'; get_tool_inventory lists those it has",
			 AR_STR_ARG(turn->id), AR_STR_ARG(ar_str_utf8_prefix(act->name, ACT_NAME_MAX)));
}

/* It is no call: it has the reserved id act_<digest>, the same for the same act. */
static struct ar_str act_id(struct ar_decision *d, const struct ar_act *act)
{
	struct ar_str text =
		ar_arena_fmt(d->arena, "%.*s %.*s", AR_STR_ARG(act->name), AR_STR_ARG(act->args));

	return ar_arena_fmt(d->arena, "act_%.*s", AR_STR_ARG(ar_hash_digits(d->arena, text, 32)));
}

static enum ar_status judge_described(struct ar_decision *d, const struct ar_cmd_evaluate_permission_in *in,
				      struct ar_error *err)
{
	const struct ar_turn *turn;
	struct ar_act act = { 0 };
	struct ar_judgement j;
	struct ar_ids ids;

	if (find_turn(d, in->turn_id, &turn, err) != AR_OK || read_act(in->act, &act, err) != AR_OK ||
	    find_tool(d, turn, &act, err) != AR_OK)
		return AR_E_REFUSED;
	j = ar_permission_judge(d, turn, &act);
	ids = ar_ids_turn(d, turn);
	ids.at[AR_SCOPE_TOOL_CALL] = act_id(d, &act);
	ar_permission_emit(d, &ids, &j, AR_STR_NONE);
	ar_decide_reply(d, AR_CMD_EVALUATE_PERMISSION,
			&(struct ar_cmd_evaluate_permission_out){
				.decision = (int)j.verdict,
				.decision_source = ar_str_from(
					ar_permission_evaluated_decision_source_desc.names[j.source]),
				.decision_reason = j.reason });
	return AR_OK;
}

enum ar_status ar_decide_evaluate_permission(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_evaluate_permission_in *in = d->input->command.args;

	if (!in->act)
		return answer_recorded(d, in, err);
	return judge_described(d, in, err);
}
