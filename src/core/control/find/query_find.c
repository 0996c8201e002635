/* find_tasks and find_processes: records of all sessions of the caller's tenant. A walk over sessions,
 * newest first, and over the rows of each; those with open work have an index of their own. A call looks at
 * a bounded number of sessions and rows. Where it goes on is said by the session before, so that a place
 * that a caller made up leads to nothing but its own sessions. Owner: the loop thread. */
#include "codec.h"
#include "control_priv.h"
#include "find/degraded.h"
#include "index_rows.h"
#include "storage.h"

#define RECORDS_DEFAULT 100
#define RECORDS_MAX 500
#define SESSIONS_PAGE 32
#define SESSIONS_MAX 128 /* that one call looks at */
#define ROWS_PAGE 100
#define ROWS_MAX 2000 /* the same */

/* Of tasks: what is over. */
#define ENDED ",completed,failed,cancelled,timed_out,archived,"
#define ARCHIVED ",archived,"

/* In the call's arena. */
struct walk {
	struct ar_call *call;
	struct ar_jw w;
	bool is_processes, with_ended, with_internal;
	bool cannot_read; /* the session whose rows are read */
	int status; /* of tasks; 0: any */
	struct ar_str remote; /* id that a peer has for the task; absent: any */
	size_t wanted, found, sessions_seen, rows_seen;
	struct ar_store_sessions sessions;
	size_t at; /* of the session whose rows are read, among those */
	struct ar_str before; /* the session before it; absent: it is the first of all */
	struct ar_str resumed; /* a session of which some rows were read by an earlier call; absent: none */
	uint64_t resumed_after;
	uint64_t after; /* rows of the session up to this one are read */
	struct ar_store_tasks tasks;
	struct ar_store_items items;
};

static void read_sessions(struct walk *k);
static void read_rows(struct walk *k);

/* ---- the end ---- */

static void release(struct walk *k)
{
	ar_store_op_fini(&k->sessions.op);
	ar_store_op_fini(&k->tasks.op);
	ar_store_op_fini(&k->items.op);
}

/* The cursor: the session before, and where in the next one; absent: all was read. */
static void answer(struct walk *k, struct ar_str session, uint64_t after)
{
	struct ar_call *c = k->call;

	ar_jw_close_array(&k->w);
	if (!ar_str_absent(session))
		ar_jw_mstr(&k->w, "nextCursor",
			   ar_arena_fmt(&c->arena, "%.*s.%.*s.%llu",
					AR_STR_ARG(ar_str_absent(k->before) ? AR_STR("") : k->before),
					AR_STR_ARG(session), (unsigned long long)after));
	ar_jw_close(&k->w);
	release(k);
	ar_call_done(c, 200);
}

static bool has_failed(struct walk *k, const struct ar_store_op *op)
{
	struct ar_error err = op->err;

	if (op->status == AR_OK)
		return false;
	ar_buf_clear(&k->call->reply);
	release(k);
	ar_call_refuse(k->call, ar_storage_code(op->status), "%.200s", err.msg);
	return true;
}

/* ---- rows of a session ---- */

static bool is_member(struct ar_json record, const char *name, const char *value)
{
	struct ar_str v;

	return ar_json_str(ar_json_get(record, name), &v) && ar_str_is(v, value);
}

/* Of every attempt: an older one may be what a peer still speaks of. */
static bool is_remote(const struct walk *k, struct ar_json record)
{
	struct ar_json attempts = ar_json_get(record, "attempts"), remote;
	struct ar_str v;

	if (ar_str_absent(k->remote))
		return true;
	for (struct ar_json_iter it = ar_json_iter(attempts); ar_json_next(&it);) {
		remote = ar_json_get(it.value, "remoteTasks");
		for (struct ar_json_iter r = ar_json_iter(remote); ar_json_next(&r);) {
			if (ar_json_str(ar_json_get(r.value, "remoteTaskId"), &v) && ar_str_eq(v, k->remote))
				return true;
		}
	}
	return false;
}

/* The store knows statuses of tasks; what else there is of a record is looked at here. */
static bool is_wanted(struct walk *k, struct ar_str text)
{
	struct ar_json record;

	if (ar_json_parse(k->call->control->json, text, &record, NULL) != AR_OK)
		return false;
	if (k->is_processes)
		return k->with_ended || is_member(record, "status", "running");
	return !is_member(record, "visibility", "hidden") && is_remote(k, record);
}

static void add_record(struct walk *k, struct ar_str record)
{
	k->rows_seen++;
	if (!is_wanted(k, record) || (k->cannot_read && k->status && k->status != AR_TASK_STATUS_UNKNOWN))
		return;
	if (k->cannot_read)
		ar_record_write_unknown(k->call, record, false, &k->w);
	else
		ar_jw_raw(&k->w, record);
	k->found++;
}

static void next_session(struct walk *k)
{
	/* a copy: the page that has the id may be the last one that is read */
	k->before = ar_arena_str(&k->call->arena, k->sessions.ids[k->at]);
	k->after = 0;
	k->at++;
	k->sessions_seen++;
	read_rows(k);
}

static void on_read(struct walk *k, bool has_more)
{
	if (!has_more)
		next_session(k);
	else if (k->found >= k->wanted || k->rows_seen >= ROWS_MAX)
		answer(k, k->sessions.ids[k->at], k->after);
	else
		read_rows(k);
}

static void on_tasks(struct ar_store_op *op)
{
	struct walk *k = AR_CONTAINER_OF(op, struct walk, tasks.op);

	if (has_failed(k, op))
		return;
	for (size_t i = 0; i < k->tasks.count; i++)
		add_record(k, k->tasks.rows[i].record);
	k->after = k->tasks.next;
	on_read(k, k->tasks.next > 0);
}

static void on_items(struct ar_store_op *op)
{
	struct walk *k = AR_CONTAINER_OF(op, struct walk, items.op);

	if (has_failed(k, op))
		return;
	for (size_t i = 0; i < k->items.count; i++) {
		add_record(k, k->items.rows[i].record);
		k->after = k->items.rows[i].number;
	}
	on_read(k, k->items.more);
}

static void read_tasks(struct walk *k, struct ar_str session, size_t limit)
{
	struct ar_str except = AR_STR_NONE;
	int status = k->cannot_read ? 0 : k->status; /* no row says unknown */

	if (!status)
		except = k->with_ended ? AR_STR(ARCHIVED) : AR_STR(ENDED);
	ar_store_op_fini(&k->tasks.op);
	k->tasks = (struct ar_store_tasks){ .op = { .kind = AR_STORE_TASKS, .done = on_tasks },
					    .session = session,
					    .status = ar_str_from(ar_enum_name(&ar_task_status_desc, status)),
					    .except = except,
					    .with_internal = k->with_internal,
					    .after = k->after,
					    .limit = limit };
	ar_store_submit(k->call->control->store, &k->tasks.op);
}

static void read_items(struct walk *k, struct ar_str session, size_t limit)
{
	ar_store_op_fini(&k->items.op);
	k->items = (struct ar_store_items){ .op = { .kind = AR_STORE_ITEMS, .done = on_items },
					    .session = session,
					    .list = AR_INDEX_PROCESSES,
					    .from = k->after + 1,
					    .to = INT64_MAX,
					    .limit = limit };
	ar_store_submit(k->call->control->store, &k->items.op);
}

/* Of the session that is at turn; when the page has no other, of the first one of the next page. */
static void read_rows(struct walk *k)
{
	size_t room = k->wanted - k->found;
	struct ar_str session;

	if (k->at == k->sessions.count) {
		if (k->sessions.more)
			read_sessions(k);
		else
			answer(k, AR_STR_NONE, 0);
		return;
	}
	session = k->sessions.ids[k->at];
	if (room == 0 || k->sessions_seen >= SESSIONS_MAX) {
		answer(k, session, 0);
		return;
	}
	k->cannot_read = ar_call_cannot_read(k->call, session);
	if (k->after == 0 && ar_str_eq(session, k->resumed))
		k->after = k->resumed_after;
	if (k->is_processes)
		read_items(k, session, room < ROWS_PAGE ? room : ROWS_PAGE);
	else
		read_tasks(k, session, room < ROWS_PAGE ? room : ROWS_PAGE);
}

/* ---- sessions ---- */

static void on_sessions(struct ar_store_op *op)
{
	struct walk *k = AR_CONTAINER_OF(op, struct walk, sessions.op);

	if (has_failed(k, op))
		return;
	k->at = 0;
	read_rows(k);
}

/* A task of a given status that is over may be in any session. */
static void read_sessions(struct walk *k)
{
	struct ar_str workspace = k->sessions.workspace;

	ar_store_op_fini(&k->sessions.op);
	k->sessions = ar_sessions_of(k->call, on_sessions);
	k->sessions.before = k->before;
	k->sessions.workspace = workspace;
	k->sessions.limit = SESSIONS_PAGE;
	k->sessions.open_only = !k->with_ended;
	ar_store_submit(k->call->control->store, &k->sessions.op);
}

/* ---- the question ---- */

static bool read_cursor(struct walk *k, struct ar_str text)
{
	struct ar_call *c = k->call;
	struct ar_str before, rest = ar_str_split(text, '.', &before);
	struct ar_str number = ar_str_absent(rest) ? rest : ar_str_split(rest, '.', &k->resumed);

	if (ar_str_absent(number) || !ar_str_to_u64(number, &k->resumed_after) ||
	    k->resumed_after > INT64_MAX || !ar_call_is_list_cursor(c, k->resumed))
		return false;
	if (ar_str_empty(before))
		return true;
	k->before = before;
	return ar_call_is_list_cursor(c, before);
}

static void begin(struct walk *k, struct ar_str cursor, struct ar_opt_int limit)
{
	struct ar_call *c = k->call;

	k->wanted = ar_call_limit(limit, RECORDS_DEFAULT, RECORDS_MAX);
	if (!ar_str_absent(cursor) && !read_cursor(k, cursor)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	k->w = ar_jw(&c->reply);
	ar_jw_open(&k->w);
	ar_jw_key(&k->w, k->is_processes ? "processes" : "tasks");
	ar_jw_open_array(&k->w);
	read_sessions(k);
}

static bool is_over(int status)
{
	return status == AR_TASK_STATUS_COMPLETED || status == AR_TASK_STATUS_FAILED ||
	       status == AR_TASK_STATUS_CANCELLED || status == AR_TASK_STATUS_TIMED_OUT ||
	       status == AR_TASK_STATUS_ARCHIVED;
}

void ar_query_find_tasks(struct ar_call *c)
{
	const struct ar_cmd_find_tasks_in *in = c->input;
	struct walk *k = ar_arena_alloc(&c->arena, sizeof(*k));

	*k = (struct walk){ .call = c,
			    .with_ended = in->with_ended.v || is_over(in->status),
			    .with_internal = in->with_internal.v,
			    .status = in->status,
			    .remote = in->remote_task_id,
			    .before = AR_STR_NONE,
			    .resumed = AR_STR_NONE,
			    .sessions = { .workspace = in->workspace_id } };
	begin(k, in->cursor, in->limit);
}

void ar_query_find_processes(struct ar_call *c)
{
	const struct ar_cmd_find_processes_in *in = c->input;
	struct walk *k = ar_arena_alloc(&c->arena, sizeof(*k));

	*k = (struct walk){ .call = c,
			    .is_processes = true,
			    .with_ended = in->with_ended.v,
			    .before = AR_STR_NONE,
			    .resumed = AR_STR_NONE,
			    .sessions = { .workspace = in->workspace_id } };
	begin(k, in->cursor, in->limit);
}
