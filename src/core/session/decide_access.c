/* What a tenant's home session is told: calls that were refused, and what was administered. The
 * first fact of it makes the session. Pure. */
#include "decide.h"
#include "describe.h"
#include "tenant.h"

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
}

enum ar_status ar_decide_access(struct ar_decision *d, struct ar_error *err AR_UNUSED)
{
	const struct ar_audit *a = d->input->access;

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
