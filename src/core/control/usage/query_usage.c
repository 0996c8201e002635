/* get_usage: a page of what model calls used, from the sums that the store keeps with the facts; by session
 * from the rows of sessions, which have what each used in all. Owner: the loop thread. */
#include "clock.h"
#include "codec.h"
#include "control_priv.h"
#include "limits/money.h"
#include "storage.h"
#include "store/usage.h"

#define ROWS_DEFAULT 100
#define ROWS_MAX 1000
#define SPAN_DEFAULT (24 * AR_STORE_HOUR)
#define SPAN_MOST (31 * 24) /* hours of a page that costs what its span holds */

/* In the call's arena. */
struct reading {
	struct ar_call *call;
	struct ar_store_usage page;
	struct ar_cmd_get_usage_out out;
};

static const enum ar_store_usage_by kinds[] = { [AR_GET_USAGE_BY_HOUR] = AR_STORE_USAGE_HOUR,
						[AR_GET_USAGE_BY_MODEL] = AR_STORE_USAGE_MODEL,
						[AR_GET_USAGE_BY_WORKSPACE] = AR_STORE_USAGE_WORKSPACE,
						[AR_GET_USAGE_BY_TENANT] = AR_STORE_USAGE_TENANT };

/* ---- cursors: the length of the currency, the currency, the key ---- */

static struct ar_str cursor_of(struct reading *r, struct ar_store_usage_row *row)
{
	struct ar_arena *a = &r->call->arena;
	struct ar_str *name = ar_store_usage_name(row, r->page.by);
	struct ar_str key = name ? *name : ar_arena_fmt(a, "%lld", (long long)row->hour);

	return ar_arena_fmt(a, "%zu.%.*s%.*s", row->currency.len, AR_STR_ARG(row->currency), AR_STR_ARG(key));
}

static bool read_cursor(struct ar_str text, struct ar_store_usage *page)
{
	struct ar_str length, rest = ar_str_split(text, '.', &length);
	struct ar_str *name = ar_store_usage_name(&page->after, page->by);
	uint64_t size = 0, hour = 0;

	if (ar_str_absent(rest) || !ar_str_to_u64(length, &size) || size > rest.len)
		return false;
	page->has_after = true;
	page->after.currency = ar_str_sub(rest, 0, (size_t)size);
	rest = ar_str_sub(rest, (size_t)size, rest.len - (size_t)size);
	if (name) {
		*name = rest;
		return true;
	}
	if (!ar_str_to_u64(rest, &hour) || hour > INT64_MAX)
		return false;
	page->after.hour = (int64_t)hour;
	return true;
}

/* ---- the answer ---- */

static void refuse(struct reading *r, struct ar_store_op *op)
{
	struct ar_call *c = r->call;
	struct ar_error err = op->err;

	ar_store_op_fini(op);
	ar_call_refuse(c, ar_storage_code(err.status), "%.200s", err.msg);
}

/* The memory of `op` is given back before that of the call, which has it. */
static void answer(struct reading *r, struct ar_store_op *op, struct ar_shape_usage_row *rows, size_t count)
{
	struct ar_call *c = r->call;
	struct ar_jw w = ar_jw(&c->reply);

	r->out.rows = (struct ar_shape_usage_row_list){ rows, count };
	ar_struct_encode(&ar_command_describe(c->command)->out, &r->out, AR_STR_NONE, &w);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

static struct ar_str hour_text(struct ar_arena *a, int64_t hour)
{
	char text[AR_TIME_TEXT];

	return ar_arena_str(a, ar_time_format(hour * AR_STORE_HOUR, text));
}

static struct ar_shape_usage_row shown(struct reading *r, struct ar_store_usage_row *row)
{
	struct ar_str *name = ar_store_usage_name(row, r->page.by);
	bool is_priced = !ar_str_empty(row->currency);

	return (struct ar_shape_usage_row){
		.key = name ? *name : hour_text(&r->call->arena, row->hour),
		.requests = row->requests,
		.tokens = row->input_tokens + row->output_tokens,
		.input_tokens = AR_OPT_INT(row->input_tokens),
		.output_tokens = AR_OPT_INT(row->output_tokens),
		.cached_tokens = AR_OPT_INT(row->cached_tokens),
		.cost = { (double)row->cost / (double)AR_MONEY_UNIT, is_priced },
		.currency = is_priced ? row->currency : AR_STR_NONE,
	};
}

static void on_page(struct ar_store_op *op)
{
	struct reading *r = AR_CONTAINER_OF(op, struct reading, page.op);
	struct ar_shape_usage_row *rows;

	if (op->status != AR_OK) {
		refuse(r, op);
		return;
	}
	rows = ar_arena_alloc(&op->arena, (r->page.count + 1) * sizeof(*rows));
	for (size_t i = 0; i < r->page.count; i++)
		rows[i] = shown(r, &r->page.rows[i]);
	if (r->page.more)
		r->out.next_cursor = cursor_of(r, &r->page.rows[r->page.count - 1]);
	answer(r, op, rows, r->page.count);
}

/* ---- by session ---- */

static struct ar_str text_in(struct ar_json v, const char *name, struct ar_arena *a)
{
	struct ar_str text = AR_STR_NONE;

	return ar_json_str(ar_json_get(v, name), &text) ? ar_arena_str(a, text) : AR_STR_NONE;
}

/* False: nothing was used. Rows from before there were counts of requests have tokens alone. */
static bool read_shell(struct reading *r, struct ar_str shell, struct ar_shape_usage_row *ret)
{
	struct ar_arena *a = &r->call->arena;
	struct ar_json v;
	double cost = 0;

	*ret = (struct ar_shape_usage_row){ 0 };
	if (ar_json_parse(r->call->control->json, shell, &v, NULL) != AR_OK ||
	    !ar_json_i64(ar_json_get(v, "tokens"), &ret->tokens))
		return false;
	ar_json_i64(ar_json_get(v, "requests"), &ret->requests);
	ret->key = text_in(v, "sessionId", a);
	ret->title = text_in(v, "title", a);
	if (ar_json_num(ar_json_get(v, "cost"), &cost)) {
		ret->cost = (struct ar_opt_num){ cost, true };
		ret->currency = text_in(v, "currency", a);
	}
	return !ar_str_absent(ret->key);
}

static void on_sessions(struct ar_store_op *op)
{
	struct ar_call_work *w = AR_CONTAINER_OF(op, struct ar_call_work, sessions.op);
	struct reading *r = w->walk;
	struct ar_shape_usage_row *rows;
	size_t count = 0;

	if (op->status != AR_OK) {
		refuse(r, op);
		return;
	}
	rows = ar_arena_alloc(&r->call->arena, (w->sessions.count + 1) * sizeof(*rows));
	for (size_t i = 0; i < w->sessions.count; i++)
		count += read_shell(r, w->sessions.shells[i], &rows[count]);
	if (w->sessions.more && w->sessions.count > 0)
		r->out.next_cursor = ar_arena_str(&r->call->arena, w->sessions.ids[w->sessions.count - 1]);
	answer(r, op, rows, count);
}

static void list_sessions(struct reading *r)
{
	struct ar_call *c = r->call;
	const struct ar_cmd_get_usage_in *in = c->input;
	struct ar_store_sessions *wanted = &c->work->sessions;

	if (!ar_str_absent(in->cursor) && !ar_call_is_list_cursor(c, in->cursor)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	*wanted = ar_sessions_of(c, on_sessions);
	wanted->tenant = r->page.tenant;
	wanted->before = in->cursor;
	wanted->updated_since = r->out.since;
	wanted->limit = r->page.limit;
	c->work->walk = r;
	ar_store_submit(c->control->store, &wanted->op);
}

/* ---- the question ---- */

static enum ar_status read_span(struct reading *r, const struct ar_cmd_get_usage_in *in, struct ar_error *err)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec until = in->until ? in->until : clock->wall(clock);
	ar_usec since;

	r->page.to = (until + AR_STORE_HOUR - 1) / AR_STORE_HOUR;
	since = in->since ? in->since : r->page.to * AR_STORE_HOUR - SPAN_DEFAULT;
	r->page.from = since > 0 ? since / AR_STORE_HOUR : 0;
	r->out.since = r->page.from * AR_STORE_HOUR;
	r->out.until = r->page.to * AR_STORE_HOUR;
	if (r->page.to <= r->page.from)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "until must be later than since");
	if (r->page.to - r->page.from > SPAN_MOST && r->out.by != AR_GET_USAGE_BY_HOUR &&
	    r->out.by != AR_GET_USAGE_BY_SESSION)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "a span has at most 31 days unless it is by hour or session: ask in parts");
	return AR_OK;
}

static enum ar_status read_filters(struct reading *r, const struct ar_cmd_get_usage_in *in,
				   struct ar_error *err)
{
	bool has_filter = !ar_str_absent(in->workspace_id) || !ar_str_absent(in->model);

	if (has_filter && (r->out.by == AR_GET_USAGE_BY_SESSION || r->out.by == AR_GET_USAGE_BY_TENANT))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "workspaceId and model go with hour, model and workspace alone");
	r->page.workspace = in->workspace_id;
	r->page.model = in->model;
	return AR_OK;
}

/* Another tenant is the operator's to name, as in list_audit. */
static struct ar_str tenant_of(const struct ar_call *c, int by)
{
	const struct ar_cmd_get_usage_in *in = c->input;

	if (!ar_principal_is_operator(c->who))
		return ar_control_who(c->who)->tenant;
	if (!ar_str_absent(in->tenant) || by == AR_GET_USAGE_BY_TENANT)
		return in->tenant;
	return ar_control_who(c->who)->tenant;
}

void ar_query_get_usage(struct ar_call *c)
{
	const struct ar_cmd_get_usage_in *in = c->input;
	struct reading *r = ar_arena_alloc(&c->arena, sizeof(*r));
	struct ar_error err = { 0 };

	*r = (struct reading){ .call = c, .out = { .by = in->by ? in->by : AR_GET_USAGE_BY_HOUR } };
	r->page.op = (struct ar_store_op){ .kind = AR_STORE_USAGE, .done = on_page };
	r->page.tenant = tenant_of(c, r->out.by);
	r->page.limit = ar_call_limit(in->limit, ROWS_DEFAULT, ROWS_MAX);
	if (read_span(r, in, &err) != AR_OK || read_filters(r, in, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	if (r->out.by == AR_GET_USAGE_BY_SESSION) {
		list_sessions(r);
		return;
	}
	r->page.by = kinds[r->out.by];
	if (!ar_str_absent(in->cursor) && !read_cursor(in->cursor, &r->page)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	ar_store_submit(c->control->store, &r->page.op);
}
