/* What all carriers do alike: they tell what hangs on them that it may go on, should end, or is
 * gone. Owner: the loop thread. */
#include "carrier.h"
#include "a2a/a2a.h"
#include "admission.h"
#include "request.h"
#include "peer/forward.h"
#include "sse.h"

uint64_t ar_carrier_opened_at(const struct ar_carrier *c)
{
	if (c->sse)
		return ar_sse_opened_at(c->sse);
	return c->forward ? c->forward->opened_at : 0;
}

void ar_carrier_drained(struct ar_carrier *c)
{
	if (c->sse)
		ar_sse_drained(c->sse);
	else if (c->forward)
		ar_relay_drained(c->forward);
	else if (c->a2a)
		ar_a2a_drained(c->a2a);
}

void ar_carrier_drain(struct ar_carrier *c)
{
	if (c->sse)
		ar_sse_drain(c->sse);
	else if (c->forward)
		ar_forward_drain(c->forward);
	else if (c->a2a)
		ar_a2a_drain(c->a2a);
}

void ar_carrier_expire(struct ar_carrier *c, const struct ar_error *why)
{
	if (c->sse)
		ar_sse_expire(c->sse, why);
	else if (c->forward)
		ar_forward_expire(c->forward);
}

void ar_carrier_admit(struct ar_carrier *c, const struct ar_principal *who)
{
	ar_carrier_drop_admission(c);
	c->admission = ar_http_admission_new(c->server, who);
	c->who = c->admission ? &c->admission->who : NULL;
}

void ar_carrier_drop_admission(struct ar_carrier *c)
{
	ar_http_admission_free(c->admission);
	c->admission = NULL;
	c->who = NULL;
}

void ar_carrier_stop(struct ar_carrier *c)
{
	if (c->is_closed)
		return;
	c->is_closed = true;
	if (c->sse)
		ar_sse_stop(c->sse);
	if (c->forward)
		ar_forward_stop(c->forward);
	if (c->a2a)
		ar_a2a_stop(c->a2a);
	if (c->request)
		ar_settle_drop(c->request);
	ar_http_admission_release(c->admission);
}

bool ar_carrier_fini(struct ar_carrier *c)
{
	if (c->request && c->request->is_calling)
		return false;
	if (c->sse)
		ar_sse_free(c->sse);
	if (c->forward)
		ar_forward_free(c->forward);
	if (c->a2a)
		ar_a2a_free(c->a2a);
	c->a2a = NULL;
	c->sse = NULL;
	c->forward = NULL;
	ar_carrier_drop_admission(c);
	return true;
}
