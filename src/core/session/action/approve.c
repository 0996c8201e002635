/* Questions that several people have to approve. Each approval is a state line (run.status) with
 * the question's id, so it is durable before anybody hears of it; the last one settles the
 * question. Who a person is comes from authentication, never from what the answer says. Pure. */
#include "action/action.h"
#include "people.h"

bool ar_action_needs_people(const struct ar_action *a, struct ar_str decision)
{
	return a->needed.v > 0 && (ar_action_allows(decision) || ar_str_is(decision, "retry"));
}

static bool has_approved(const struct ar_action *a, struct ar_str person)
{
	for (size_t i = 0; i < a->approved.count; i++) {
		if (ar_str_eq(a->approved.at[i].person, person))
			return true;
	}
	return false;
}

static enum ar_status check_person(const struct ar_decision *d, const struct ar_turn *turn,
				   const struct ar_action *a, struct ar_error *err)
{
	struct ar_str person = d->input->person;

	if (ar_str_empty(person))
		return ar_refuse(err, AR_ERR_OTHER_PERSON_NEEDED,
				 "action %.*s needs identified people, and this token has no owner; create a "
				 "new one (agentctl token create)",
				 AR_STR_ARG(a->id));
	if (has_approved(a, person))
		return ar_refuse(err, AR_ERR_ALREADY_APPROVED,
				 "%.*s approved action %.*s already: %lld of %lld approvals",
				 AR_STR_ARG(ar_str_utf8_prefix(person, 64)), AR_STR_ARG(a->id),
				 (long long)a->approved.count, (long long)a->needed.v);
	if (!ar_people_may_have(turn->people, person))
		return AR_OK;
	if (ar_people_may_have(turn->people, AR_STR("")))
		return ar_refuse(err, AR_ERR_OTHER_PERSON_NEEDED,
				 "it is not recorded who gave the work of action %.*s, so nobody can approve "
				 "it; deny it, and submit the turn again",
				 AR_STR_ARG(a->id));
	return ar_refuse(err, AR_ERR_OTHER_PERSON_NEEDED,
			 "another person must approve action %.*s: %.*s gave the work", AR_STR_ARG(a->id),
			 AR_STR_ARG(ar_str_utf8_prefix(person, 64)));
}

enum ar_status ar_action_approve(struct ar_decision *d, const struct ar_turn *turn, const struct ar_action *a,
				 struct ar_settlement *s, bool *ret_is_enough, struct ar_error *err)
{
	int64_t given = (int64_t)a->approved.count + 1;
	const struct ar_shape_approval approval = { .person = d->input->person, .at = d->input->now };

	if (check_person(d, turn, a, err) != AR_OK)
		return AR_E_REFUSED;
	ar_action_emit(d, turn, a->id, AR_EV_RUN_STATUS,
		       &(struct ar_ev_run_status){
			       .phase = AR_STR(AR_PHASE_APPROVED),
			       .title = ar_arena_fmt(d->arena, "%lld of %lld approvals", (long long)given,
						     (long long)a->needed.v),
			       .detail = d->input->person,
			       .metadata = &(struct ar_shape_run_metadata){ .action_id = a->id,
									    .approvals = AR_OPT_INT(given),
									    .approvals_needed = a->needed,
									    .approved = { &approval, 1 } } });
	*ret_is_enough = given >= a->needed.v;
	if (!*ret_is_enough)
		return AR_OK;
	s->approvals = a->approved;
	s->reason = ar_arena_fmt(d->arena, "%lld of %lld people approved", (long long)given,
				 (long long)a->needed.v);
	return AR_OK;
}
