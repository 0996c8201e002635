/* Questions that several people have to approve. Each approval is a state line (run.status) with the question's id, so it is durable before anybody
 * hears of it; the last one settles the question. Who a person is comes from authentication, never from what the answer says. Pure. */
#include "action/action.h"
#include "people.h"
#include "task/words.h"

bool ar_action_needs_people(const struct ar_action *a, struct ar_str decision)
{
	return a->needed.v > 0 && (ar_action_allows(decision) || ar_str_is(decision, "retry"));
}

int64_t ar_action_approvals(const struct ar_session *s, const struct ar_action *a)
{
	struct ar_json approved;

	if (ar_str_absent(a->approved) || ar_json_parse(s->json, a->approved, &approved, NULL) != AR_OK)
		return 0;
	return (int64_t)ar_json_len(approved);
}

static bool has_approved(const struct ar_session *s, const struct ar_action *a, struct ar_str person)
{
	struct ar_json approved;
	struct ar_str one;

	if (ar_str_absent(a->approved) || ar_json_parse(s->json, a->approved, &approved, NULL) != AR_OK)
		return false;
	for (struct ar_json_iter it = ar_json_iter(approved); ar_json_next(&it);) {
		if (ar_json_str(ar_json_get(it.value, "person"), &one) && ar_str_eq(one, person))
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
	if (has_approved(d->session, a, person))
		return ar_refuse(err, AR_ERR_ALREADY_APPROVED,
				 "%.*s approved action %.*s already: %lld of %lld approvals",
				 AR_STR_ARG(ar_str_utf8_prefix(person, 64)), AR_STR_ARG(a->id),
				 (long long)ar_action_approvals(d->session, a), (long long)a->needed.v);
	if (!ar_people_may_have(d->json, turn->people, person))
		return AR_OK;
	if (ar_people_may_have(d->json, turn->people, AR_STR("")))
		return ar_refuse(err, AR_ERR_OTHER_PERSON_NEEDED,
				 "it is not recorded who gave the work of action %.*s, so nobody can approve "
				 "it; deny it, and submit the turn again",
				 AR_STR_ARG(a->id));
	return ar_refuse(err, AR_ERR_OTHER_PERSON_NEEDED,
			 "another person must approve action %.*s: %.*s gave the work", AR_STR_ARG(a->id),
			 AR_STR_ARG(ar_str_utf8_prefix(person, 64)));
}

static struct ar_str one_approval(struct ar_decision *d)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open_array(&w);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "person", d->input->person);
	ar_jw_mtime(&w, "at", d->input->now);
	ar_jw_close(&w);
	ar_jw_close_array(&w);
	return ar_decide_json_end(d);
}

static struct ar_str metadata_of(struct ar_decision *d, const struct ar_action *a, int64_t given,
				 struct ar_str approved)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "actionId", a->id);
	ar_jw_mint(&w, "approvals", given);
	ar_jw_mint(&w, "approvalsNeeded", a->needed.v);
	ar_jw_mraw(&w, "approved", approved);
	ar_jw_close(&w);
	return ar_decide_json_end(d);
}

enum ar_status ar_action_approve(struct ar_decision *d, const struct ar_turn *turn, const struct ar_action *a,
				 struct ar_settlement *s, bool *ret_is_enough, struct ar_error *err)
{
	int64_t given = ar_action_approvals(d->session, a) + 1;
	struct ar_ids ids = ar_ids_turn(d, turn);
	struct ar_str approved, all;

	if (check_person(d, turn, a, err) != AR_OK)
		return AR_E_REFUSED;
	approved = one_approval(d);
	all = ar_text_joined(d->json, d->arena, a->approved, approved, AR_APPROVALS_MAX);
	ids.at[AR_SCOPE_ACTION] = a->id;
	ar_decide_emit(d, AR_EV_RUN_STATUS, &ids,
		       &(struct ar_ev_run_status){ .phase = AR_STR(AR_PHASE_APPROVED),
						   .title = ar_arena_fmt(d->arena, "%lld of %lld approvals",
									 (long long)given,
									 (long long)a->needed.v),
						   .detail = d->input->person,
						   .checkpoints = AR_STR("[]"),
						   .metadata = metadata_of(d, a, given, approved) });
	*ret_is_enough = given >= a->needed.v;
	if (!*ret_is_enough)
		return AR_OK;
	s->approvals = all;
	s->reason = ar_arena_fmt(d->arena, "%lld of %lld people approved", (long long)given,
				 (long long)a->needed.v);
	return AR_OK;
}
