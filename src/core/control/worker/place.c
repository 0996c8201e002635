/* The worker that a new workspace names: read from the index row of its log before the folder is made, so
 * that the decision needs nothing but its input. Owner: the loop thread. */
#include "control_priv.h"
#include "storage.h"
#include "tenant.h"
#include "worker/worker.h"

static void on_row(struct ar_store_op *op)
{
	struct ar_call_work *w = AR_CONTAINER_OF(op, struct ar_call_work, index.op);
	struct ar_call *c = w->call;
	const struct ar_shape_worker_record *record =
		ar_call_index_record(c, &ar_shape_worker_record_desc, sizeof(*record));

	ar_store_op_fini(op); /* first: the answer gives the call's memory back */
	if (op->status != AR_OK)
		ar_call_refuse(c, ar_storage_code(op->status), "%.200s", op->err.msg);
	else if (!record || !ar_str_eq(record->tenant, ar_control_who(c->who)->tenant))
		ar_worker_refuse_unknown(c);
	else
		ar_workspace_make(c, record);
}

static void read_row(struct ar_call *c)
{
	const struct ar_cmd_create_workspace_in *in = c->input;
	struct ar_call_work *w = c->work;

	w->index = (struct ar_store_index){ .op = { .kind = AR_STORE_INDEX, .done = on_row },
					    .session = ar_worker_key_in(in->worker) };
	ar_store_submit(c->control->store, &w->index.op);
}

void ar_worker_find_for(struct ar_call *c, struct ar_str id)
{
	const struct ar_cmd_create_workspace_in *in = c->input;
	struct ar_str key = ar_worker_key_in(id);

	if (!ar_str_absent(in->root) && !ar_pool_is_name(in->root))
		ar_call_refuse(
			c, AR_ERR_INVALID_INPUT,
			"with worker, root is the name of a folder that the worker offers (agentd worker "
			"--root NAME=PATH); without root it makes one");
	else if (ar_str_absent(key))
		ar_worker_refuse_unknown(c);
	else
		ar_call_check_tenant(c, key, read_row, ar_worker_refuse_unknown);
}
