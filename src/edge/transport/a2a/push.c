/* Push configurations of a task: set, shown, listed and removed for the caller whose task it is. The core
 * keeps them, the host sends; what is checked here is who asks. Owner: the loop thread. */
#include "a2a/exchange.h"
#include "published.h"

bool ar_a2a_read_push_request(struct ar_a2a_exchange *x, struct ar_json params, struct ar_a2a_failure *f)
{
	struct ar_str task = x->task.id; /* of the path */

	if (x->op == AR_A2A_OP_PUSH_SET ? !ar_a2a_read_push(params, &x->arena, &x->push, f)
					: !ar_a2a_read_push_id(params, &x->arena, &x->push.id, f))
		return false;
	if (ar_str_absent(task) && !ar_a2a_text(params, "taskId", &x->arena, &task, f))
		return false;
	if (ar_str_absent(task))
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "taskId", "taskId has to name a task");
	x->task.id = x->push.task = task;
	return true;
}

/* One without an id has that of its task. */
static struct ar_str id_of(const struct ar_a2a_push *p)
{
	return ar_str_empty(p->id) ? p->task : p->id;
}

bool ar_a2a_push_check(struct ar_a2a_exchange *x, const struct ar_a2a_push *p)
{
	const struct ar_a2a_published *published = x->published;
	struct ar_a2a_failure f = { 0 };
	const char *why;

	if (!published->pushes) {
		ar_a2a_refuse_with(x, AR_A2A_PUSH_NOT_SUPPORTED, "push notifications are not supported");
		return false;
	}
	why = published->push_fault(published->arg, p->url);
	if (!why)
		return true;
	ar_a2a_fail(&f, AR_A2A_INVALID_PARAMS, "url", "the url is not one that this server sends to: %s",
		    why);
	ar_a2a_refuse(x, &f);
	return false;
}

void ar_a2a_push_set(struct ar_a2a_exchange *x, const struct ar_a2a_push *p, uint64_t begin,
		     ar_a2a_next_fn *next)
{
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "taskId", p->task);
	ar_jw_mstr(&w, "configId", id_of(p));
	ar_jw_mstr(&w, "url", p->url);
	ar_jw_mstr(&w, "token", p->token);
	ar_jw_mstr(&w, "scheme", p->scheme);
	ar_jw_mstr(&w, "credentials", p->credentials);
	ar_jw_mstr(&w, "version", ar_str_absent(x->old) ? AR_STR("1.0") : AR_STR("0.3"));
	ar_jw_mint(&w, "begin", (int64_t)begin);
	ar_jw_close(&w);
	ar_a2a_ask_inner(x, "set_task_push", ar_buf_str(&params), next);
	ar_buf_fini(&params);
}

/* ---- answers ---- */

static void answer_one(struct ar_a2a_exchange *x, const struct ar_a2a_push *p)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_a2a_write_push(&w, p);
	ar_a2a_answer(x, ar_buf_str(&text));
	ar_buf_fini(&text);
}

static void on_set(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	if (!is_good) {
		ar_a2a_refuse_inner(x, json);
		return;
	}
	x->push.id = id_of(&x->push);
	x->status = 201;
	answer_one(x, &x->push);
}

static void read_row(struct ar_a2a_exchange *x, struct ar_json row, struct ar_a2a_push *ret)
{
	*ret = (struct ar_a2a_push){ .task = x->task.id, .token = AR_STR_NONE };
	ar_json_str(ar_json_get(row, "configId"), &ret->id);
	ar_json_str(ar_json_get(row, "url"), &ret->url);
	if (!ar_json_str(ar_json_get(row, "scheme"), &ret->scheme))
		ret->scheme = AR_STR_NONE;
}

static void answer_all(struct ar_a2a_exchange *x, struct ar_json rows)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);
	struct ar_a2a_push p;

	ar_jw_open(&w);
	ar_jw_key(&w, "configs");
	ar_jw_open_array(&w);
	for (struct ar_json_iter it = ar_json_iter(rows); ar_json_next(&it);) {
		read_row(x, it.value, &p);
		ar_a2a_write_push(&w, &p);
	}
	ar_jw_close_array(&w);
	ar_jw_mstr(&w, "nextPageToken", AR_STR(""));
	ar_jw_close(&w);
	ar_a2a_answer(x, ar_buf_str(&text));
	ar_buf_fini(&text);
}

static void on_listed(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	struct ar_json rows = ar_json_get(json, "pushes");
	struct ar_a2a_push p;

	if (!is_good) {
		ar_a2a_refuse_inner(x, json);
		return;
	}
	if (x->op == AR_A2A_OP_PUSH_LIST) {
		answer_all(x, rows);
		return;
	}
	for (struct ar_json_iter it = ar_json_iter(rows); ar_json_next(&it);) {
		read_row(x, it.value, &p);
		if (ar_str_eq(p.id, id_of(&x->push))) {
			answer_one(x, &p);
			return;
		}
	}
	ar_a2a_refuse_with(x, AR_A2A_TASK_NOT_FOUND, "the task has no such push configuration");
}

/* One that is not there is as good as removed. */
static void on_removed(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	struct ar_str code = AR_STR_NONE;

	ar_json_str(ar_json_get(ar_json_get(json, "error"), "code"), &code);
	if (is_good || ar_str_is(code, "not_found"))
		ar_a2a_answer(x, x->is_rpc ? AR_STR("null") : AR_STR("{}"));
	else
		ar_a2a_refuse_inner(x, json);
}

/* ---- what is asked ---- */

static void ask_about(struct ar_a2a_exchange *x, const char *method, bool has_id, ar_a2a_next_fn *next)
{
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "taskId", x->push.task);
	if (has_id)
		ar_jw_mstr(&w, "configId", id_of(&x->push));
	ar_jw_close(&w);
	ar_a2a_ask_inner(x, method, ar_buf_str(&params), next);
	ar_buf_fini(&params);
}

static void loaded(struct ar_a2a_exchange *x, bool is_good AR_UNUSED, struct ar_json json AR_UNUSED)
{
	if (!ar_a2a_is_own(x))
		ar_a2a_refuse_with(x, AR_A2A_TASK_NOT_FOUND, "there is no such task");
	else if (x->op == AR_A2A_OP_PUSH_DELETE)
		ask_about(x, "remove_task_push", true, on_removed);
	else if (x->op != AR_A2A_OP_PUSH_SET)
		ask_about(x, "list_task_pushes", false, on_listed);
	else if (ar_a2a_push_check(x, &x->push))
		ar_a2a_push_set(x, &x->push, x->task.sequence, on_set);
}

void ar_a2a_push(struct ar_a2a_exchange *x)
{
	if (x->published->pushes)
		ar_a2a_load(x, loaded);
	else
		ar_a2a_refuse_with(x, AR_A2A_PUSH_NOT_SUPPORTED, "push notifications are not supported");
}
