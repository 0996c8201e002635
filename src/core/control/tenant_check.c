/* Keeps tenants apart. A session of another tenant is as if it did not exist: the same lookup is made
 * for both, of the same cost, and the same words are said. Only what is in memory and the caller's own
 * needs no lookup. Owner: the loop thread. */
#include "control_priv.h"
#include "storage.h"

void ar_call_no_session(struct ar_call *c)
{
	ar_call_refuse(c, AR_ERR_SESSION_NOT_FOUND, "%s", AR_NO_SESSION);
}

static void on_whose(struct ar_store_op *op)
{
	struct ar_call_work *w = AR_CONTAINER_OF(op, struct ar_call_work, whose.op);
	struct ar_call *c = w->call;
	bool is_own = op->status == AR_OK && ar_str_eq(w->whose.tenant, ar_control_who(c->who)->tenant);

	ar_store_op_fini(op); /* first: the answer gives the call's memory back */
	if (op->status != AR_OK)
		ar_call_refuse(c, ar_storage_code(op->status), "%.200s", op->err.msg);
	else if (is_own)
		w->on_own(c);
	else
		w->on_foreign(c);
}

void ar_call_check_tenant(struct ar_call *c, struct ar_str session_key, ar_query_fn *on_own,
			  ar_query_fn *on_foreign)
{
	struct ar_call_work *w = c->work;
	struct ar_error err = { 0 };

	if (ar_control_check_home(c->control, c->who, session_key, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	if (ar_engine_is_of(c->control->engine, session_key, ar_control_who(c->who)->tenant)) {
		on_own(c);
		return;
	}
	w->on_own = on_own;
	w->on_foreign = on_foreign;
	w->whose = (struct ar_store_tenant){ .op = { .kind = AR_STORE_TENANT, .done = on_whose },
					     .session = session_key };
	ar_store_submit(c->control->store, &w->whose.op);
}
