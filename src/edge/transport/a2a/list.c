/* ListTasks: the tasks of the caller with this agent, newest status first. The newest tasks of the tenant are
 * looked at, at most LOOKED of them, so that a call costs what is bounded; those of a page are read again
 * and written. Owner: the loop thread. */
#include "a2a/exchange.h"
#include "mem.h"
#include "server.h"

#include <stdlib.h>

#define LOOKED 300
#define PAGE_BYTES ((size_t)8 * 1024 * 1024)

struct row {
	struct ar_str id, at;
};

struct ar_a2a_list {
	struct ar_str context, after, token; /* filters; absent: none */
	enum ar_a2a_state state;
	bool has_state, has_artifacts;
	int64_t page;
	struct row rows[LOOKED]; /* what is looked at, then what is kept of it */
	size_t count, at, kept;
	bool is_writing; /* rows are written; before that they are looked at */
	struct ar_buf out;
	struct ar_jw w;
	struct ar_str next; /* token; absent: the last page */
};

bool ar_a2a_read_list_request(struct ar_a2a_exchange *x, struct ar_json params, struct ar_a2a_failure *f)
{
	struct ar_a2a_list *l = x->list = ar_new0(sizeof *l);
	struct ar_json size = ar_a2a_get(params, "pageSize");
	struct ar_str state;

	l->page = 50;
	if (!ar_a2a_text(params, "contextId", &x->arena, &l->context, f) ||
	    !ar_a2a_text(params, "statusTimestampAfter", &x->arena, &l->after, f) ||
	    !ar_a2a_text(params, "pageToken", &x->arena, &l->token, f) ||
	    !ar_a2a_text(params, "status", &x->arena, &state, f) || !ar_a2a_history(params, &x->history, f))
		return false;
	if (ar_json_type(size) != AR_JSON_NONE && ar_json_type(size) != AR_JSON_NULL &&
	    (!ar_json_i64(size, &l->page) || l->page < 1 || l->page > 100))
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "pageSize", "pageSize has to be 1 to 100");
	if (!ar_str_absent(l->after) && (l->after.len < 20 || l->after.p[10] != 'T'))
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "statusTimestampAfter",
				   "statusTimestampAfter has to be a time such as 2026-01-31T10:00:00.000Z");
	if (!ar_str_absent(l->token) && (l->token.len < 26 || l->token.p[24] != '.'))
		return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "pageToken", "pageToken is not one of ours");
	ar_json_bool(ar_a2a_get(params, "includeArtifacts"), &l->has_artifacts);
	if (ar_str_absent(state) || ar_str_is(state, "TASK_STATE_UNSPECIFIED"))
		return true;
	l->has_state = ar_a2a_state_of(state, &l->state);
	return l->has_state ||
	       ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "status", "status is no state of a task");
}

void ar_a2a_list_free(struct ar_a2a_exchange *x)
{
	if (!x->list)
		return;
	ar_buf_fini(&x->list->out);
	ar_free(x->list);
	x->list = NULL;
}

/* ---- the page ---- */

static void finish(struct ar_a2a_exchange *x)
{
	struct ar_a2a_list *l = x->list;
	struct ar_buf out = l->out;
	struct ar_jw w = { &out, true };

	l->out = (struct ar_buf){ 0 };
	ar_jw_close_array(&w);
	ar_jw_mstr(&w, "nextPageToken", ar_str_absent(l->next) ? AR_STR("") : l->next);
	ar_jw_mint(&w, "pageSize", l->page);
	ar_jw_mint(&w, "totalSize", (int64_t)l->kept);
	ar_jw_close(&w);
	ar_a2a_answer(x, ar_buf_str(&out));
	ar_buf_fini(&out);
}

static void write_next(struct ar_a2a_exchange *x);

static void loaded_to_write(struct ar_a2a_exchange *x, bool is_good, struct ar_json json AR_UNUSED)
{
	struct ar_a2a_list *l = x->list;

	if (is_good)
		ar_a2a_write_task(&l->w, &x->task, x->history, l->has_artifacts, AR_STR_NONE);
	l->at++;
	write_next(x);
}

/* Where the reader is: the status time and the id of the last task that it got. */
static struct ar_str token_of(struct ar_a2a_exchange *x, const struct row *r)
{
	return ar_arena_fmt(&x->arena, "%.*s.%.*s", AR_STR_ARG(r->at), AR_STR_ARG(r->id));
}

static void write_next(struct ar_a2a_exchange *x)
{
	struct ar_a2a_list *l = x->list;

	if (l->at == l->count || l->out.len > PAGE_BYTES) {
		if (l->at < l->count)
			l->next = token_of(x, &l->rows[l->at - 1]);
		finish(x);
		return;
	}
	x->task.id = l->rows[l->at].id;
	ar_a2a_load(x, loaded_to_write);
}

static int by_newest(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = ar_str_cmp(y->at, x->at);

	return order ? order : ar_str_cmp(y->id, x->id);
}

/* All that are kept are sorted; the page is a piece of that. */
static void begin_page(struct ar_a2a_exchange *x)
{
	struct ar_a2a_list *l = x->list;
	size_t from = 0;

	qsort(l->rows, l->kept, sizeof l->rows[0], by_newest);
	while (!ar_str_absent(l->token) && from < l->kept &&
	       ar_str_cmp(token_of(x, &l->rows[from]), l->token) >= 0)
		from++;
	l->at = from;
	l->count = l->kept;
	if (l->count - from > (size_t)l->page) {
		l->count = from + (size_t)l->page;
		l->next = token_of(x, &l->rows[l->count - 1]);
	}
	l->is_writing = true;
	l->w = ar_jw(&l->out);
	ar_jw_open(&l->w);
	ar_jw_key(&l->w, "tasks");
	ar_jw_open_array(&l->w);
	write_next(x);
}

/* ---- what is looked at ---- */

static void look_at_next(struct ar_a2a_exchange *x);

static bool is_wanted(const struct ar_a2a_exchange *x)
{
	const struct ar_a2a_list *l = x->list;
	const struct ar_a2a_task *t = &x->task;

	return ar_a2a_is_own(x) && (ar_str_absent(l->context) || ar_str_eq(t->context, l->context)) &&
	       (!l->has_state || t->state == l->state) &&
	       (ar_str_absent(l->after) || ar_str_cmp(t->at, l->after) >= 0);
}

static void looked(struct ar_a2a_exchange *x, bool is_good, struct ar_json json AR_UNUSED)
{
	struct ar_a2a_list *l = x->list;
	struct ar_str id = l->rows[l->at].id;

	if (is_good && is_wanted(x))
		l->rows[l->kept++] = (struct row){ id, ar_arena_str(&x->arena, x->task.at) };
	l->at++;
	look_at_next(x);
}

static void look_at_next(struct ar_a2a_exchange *x)
{
	struct ar_a2a_list *l = x->list;

	if (l->at == l->count) {
		begin_page(x);
		return;
	}
	x->task.id = l->rows[l->at].id;
	ar_a2a_load(x, looked);
}

static void found(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	struct ar_a2a_list *l = x->list;
	bool is_session = ar_str_starts(l->context, AR_STR("sess_")); /* the others are read first */
	struct ar_str id, session;

	if (!is_good) {
		ar_a2a_refuse_inner(x, json);
		return;
	}
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(json, "tasks")); ar_json_next(&it);) {
		session = AR_STR_NONE;
		ar_json_str(ar_json_get(it.value, "sessionId"), &session);
		if (l->count < LOOKED && ar_json_str(ar_json_get(it.value, "taskId"), &id) &&
		    (!is_session || ar_str_eq(session, l->context)))
			l->rows[l->count++].id = ar_arena_str(&x->arena, id);
	}
	look_at_next(x);
}

void ar_a2a_list_tasks(struct ar_a2a_exchange *x)
{
	ar_a2a_ask(x, "find_tasks", AR_STR("{\"withInternal\":true,\"withEnded\":true,\"limit\":500}"),
		   found);
}

bool ar_a2a_list_needs_content(const struct ar_a2a_list *l)
{
	return l->is_writing && l->has_artifacts;
}
