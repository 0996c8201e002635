/* set_policy of a workspace: mode, rules and budget for all its sessions, in the log of the workspace. It
 * only takes away of what the host lets them do, so the scope admin is enough to set it. Sessions record it
 * themselves (permission/decide_policy.c). Pure. */
#include "apply.h"
#include "decide.h"
#include "workspace/workspace.h"

#define POLICY_BYTES_MAX 16384 /* it is in the record, which lists show and sessions read */

static bool is_empty(const struct ar_shape_session_policy *p)
{
	return ar_str_absent(p->mode) && p->rules.count == 0 && !p->budget;
}

void ar_apply_workspace_policy(struct ar_session *s, const struct ar_event *e)
{
	const struct ar_ev_policy_changed *p = PAYLOAD(e, policy_changed);
	struct ar_shape_workspace_record record;

	if (!s->own || !p->policy)
		return; /* about its profiles, which the record has */
	record = *s->own;
	record.policy = is_empty(p->policy) ? NULL : p->policy;
	record.policy_author = p->changed_by;
	record.version++;
	record.updated_at = e->time;
	s->own = ar_struct_copy(&ar_shape_workspace_record_desc, &record, AR_COPY_TEXT, &s->arena);
}

struct ar_str ar_workspace_policy_content(struct ar_decision *d, const struct ar_shape_workspace_record *r)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	if (r->allowed_profiles.count > 0)
		ar_jw_mtexts(&w, "allowedProfiles", r->allowed_profiles);
	if (r->policy) {
		ar_jw_key(&w, "policy");
		ar_struct_encode(&ar_shape_session_policy_desc, r->policy, AR_STR_NONE, &w);
	}
	ar_jw_close(&w);
	return ar_decide_content(d, ar_decide_json_end(d));
}

static enum ar_status check(struct ar_decision *d, struct ar_shape_session_policy *ret, struct ar_error *err)
{
	size_t bytes;

	if (ar_workspace_check_active(d->session, err) != AR_OK || ar_policy_read(d, ret, err) != AR_OK)
		return AR_E_REFUSED;
	bytes = ar_decide_shape(d, &ar_shape_session_policy_desc, ret).len;
	if (bytes <= POLICY_BYTES_MAX)
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_POLICY, "the policy has %zu bytes and may have %d", bytes,
			 POLICY_BYTES_MAX);
}

enum ar_status ar_decide_set_workspace_policy(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_set_policy_in *in = d->input->command.args;
	struct ar_shape_session_policy policy = { 0 };
	struct ar_shape_workspace_record record;
	struct ar_str ref;

	if (check(d, &policy, err) != AR_OK)
		return AR_E_REFUSED;
	record = *d->session->own;
	record.policy = is_empty(&policy) ? NULL : &policy;
	ref = ar_workspace_policy_content(d, &record);
	if (!ar_str_eq(ref, d->session->policy_ref))
		ar_decide_emit(d, AR_EV_POLICY_CHANGED, &(struct ar_ids){ 0 },
			       &(struct ar_ev_policy_changed){
				       .scope = AR_POLICY_CHANGED_SCOPE_WORKSPACE,
				       .policy_ref = ref,
				       .previous_policy_ref = d->session->policy_ref,
				       .changed_by =
					       &(struct ar_shape_policy_author){ .account_ref =
											 d->input->account,
										 .reason = in->reason },
				       .policy = &policy });
	ar_decide_reply(d, AR_CMD_SET_POLICY, &(struct ar_cmd_set_policy_out){ .policy_ref = ref });
	return AR_OK;
}
