/* What is recorded in a tenant's home session: refused calls, what was administered, the policy of the host.
 * The first fact of it makes the session, with a thread. Pure. */
#include "decide.h"
#include "describe.h"
#include "tenant.h"

#define PRESET "{}" /* the policy of a host without any setting */

static const struct ar_ids none;

void ar_decide_home(struct ar_decision *d)
{
	if (d->session->head > 0)
		return;
	ar_decide_emit(d, AR_EV_SESSION_CREATED, &none,
		       &(struct ar_ev_session_created){ .title = AR_STR("Home"),
							.account_ref = AR_STR(AR_SOURCE_SYSTEM),
							.created_at = d->input->now,
							.tenant = ar_tenant_told(d->input->tenant),
							.source = AR_STR(AR_SOURCE_SYSTEM) });
	ar_decide_start_thread(d);
}

bool ar_session_is_old_home(const struct ar_session *s)
{
	return s->head > 0 && s->threads.count == 0 && ar_tenant_is_a_home(s->session_key);
}

/* The policy since this start, if it differs from the one before; where none was recorded before, that is the
 * policy without any setting. */
static void record_policy(struct ar_decision *d, const struct ar_audit *a)
{
	struct ar_str before = d->session->policy_ref;
	bool is_first = ar_str_absent(before);

	if (is_first)
		before = ar_decide_ref(d, AR_STR(PRESET));
	if (ar_str_eq(ar_decide_ref(d, a->policy), before))
		return;
	if (is_first)
		ar_decide_content(d, AR_STR(PRESET));
	ar_decide_home(d);
	ar_decide_emit(d, AR_EV_POLICY_CHANGED, &none,
		       &(struct ar_ev_policy_changed){ .scope = AR_POLICY_CHANGED_SCOPE_HOST,
						       .policy_ref = ar_decide_content(d, a->policy),
						       .previous_policy_ref = before,
						       .changed_by = &(struct ar_shape_policy_author){
							       .account_ref = a->actor,
							       .reason = a->message,
						       } });
}

enum ar_status ar_decide_access(struct ar_decision *d, struct ar_error *err AR_UNUSED)
{
	const struct ar_audit *a = d->input->access;

	if (!ar_str_absent(a->policy)) {
		record_policy(d, a);
		return AR_OK;
	}
	ar_decide_home(d);
	if (a->code)
		ar_decide_emit(d, AR_EV_ACCESS_REFUSED, &none,
			       &(struct ar_ev_access_refused){
				       .actor = a->actor,
				       .command = a->command,
				       .code = ar_str_from(ar_error_describe(a->code)->name),
				       .message = a->message,
				       .count = (int64_t)a->count });
	else
		ar_decide_emit(d, AR_EV_ACCESS_CHANGED, &none,
			       &(struct ar_ev_access_changed){ .actor = a->actor,
							       .command = a->command,
							       .subject = a->target,
							       .message = a->message });
	return AR_OK;
}
