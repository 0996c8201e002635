/* The read of actions over all sessions of a tenant. The store alone answers, on any node: what it
 * has is what was made visible. */
#include "control_priv.h"
#include "storage.h"

static const enum ar_store_action_filter filters[] = {
	AR_STORE_ACTION_PENDING, /* nothing asked for */
	[AR_LIST_ACTIONS_STATUS_PENDING] = AR_STORE_ACTION_PENDING,
	[AR_LIST_ACTIONS_STATUS_RESOLVED] = AR_STORE_ACTION_RESOLVED,
	[AR_LIST_ACTIONS_STATUS_ALL] = AR_STORE_ACTION_ANY,
};

/* A cursor is the place of the last record of a page: its time, a dot, its id. */
static bool read_cursor(struct ar_str cursor, struct ar_store_actions *op)
{
	struct ar_str time;
	uint64_t created;

	if (ar_str_absent(cursor))
		return true;
	op->after = ar_str_split(cursor, '.', &time);
	op->after_created = ar_str_to_u64(time, &created) && created <= INT64_MAX ? (ar_usec)created : -1;
	return op->after_created >= 0 && ar_id_acceptable(op->after);
}

static void write_cursor(const struct ar_store_actions *op, struct ar_arena *a, struct ar_jw *w)
{
	const struct ar_store_action_row *last = op->count ? &op->rows[op->count - 1] : NULL;

	if (op->more && last)
		ar_jw_mstr(w, "nextCursor",
			   ar_arena_fmt(a, "%lld.%.*s", (long long)last->created, AR_STR_ARG(last->action)));
}

static void on_actions(struct ar_store_op *op)
{
	struct ar_call_work *q = AR_CONTAINER_OF(op, struct ar_call_work, actions.op);
	struct ar_call *c = q->call;
	struct ar_jw w = ar_jw(&c->reply);

	if (op->status != AR_OK) {
		ar_store_op_fini(op); /* first: the answer gives the call's memory back */
		ar_call_refuse(c, ar_storage_code(op->status), "%.200s", op->err.msg);
		return;
	}
	ar_jw_open(&w);
	ar_jw_key(&w, "actions");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < q->actions.count; i++)
		ar_jw_raw(&w, q->actions.rows[i].record);
	ar_jw_close_array(&w);
	write_cursor(&q->actions, &c->arena, &w);
	ar_jw_close(&w);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

static void list(struct ar_call *c)
{
	ar_store_submit(c->control->store, &c->work->actions.op);
}

static void list_none(struct ar_call *c)
{
	static const struct ar_shape_action_record none;
	struct ar_jw w = ar_jw(&c->reply);

	ar_struct_encode(&ar_command_describe(c->command)->out,
			 &(struct ar_cmd_list_actions_out){ .actions = { &none, 0 } }, AR_STR_NONE, &w);
	ar_call_done(c, 200);
}

void ar_query_list_actions(struct ar_call *c)
{
	const struct ar_cmd_list_actions_in *in = c->input;
	struct ar_call_work *q = c->work;
	struct ar_error err;

	q->actions =
		(struct ar_store_actions){ .op = { .kind = AR_STORE_ACTIONS, .done = on_actions },
					   .tenant = ar_control_who(c->who)->tenant,
					   .account = in->account_ref,
					   .filter = filters[in->status],
					   .limit = ar_call_limit(in->limit, AR_LIST_DEFAULT, AR_LIST_MAX) };
	if (!ar_str_absent(in->session_id) &&
	    ar_call_session(in->session_id, &q->actions.session, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	if (!read_cursor(in->cursor, &q->actions)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	if (ar_str_absent(q->actions.session))
		list(c);
	else
		ar_call_check_tenant(c, q->actions.session, list, list_none);
}
