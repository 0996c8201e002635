/* A call comes in: decoded and checked by the catalogue, then a write goes to its
 * session and a read to its query. */
#include "control_priv.h"
#include "mem.h"
#include "metrics.h"
#include "quota/creating.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KEPT_REPLY ((size_t)16 * 1024) /* memory of larger answers is given back */

/* What is answered here; every other write goes to its session. */
static ar_query_fn *const queries[AR_CMD_COUNT] = {
	[AR_CMD_GET_SESSION] = ar_query_get_session,
	[AR_CMD_GET_THREAD_READ] = ar_query_get_thread_read,
	[AR_CMD_LIST_SESSIONS] = ar_query_list_sessions,
	[AR_CMD_LIST_TASKS] = ar_query_list_tasks,
	[AR_CMD_GET_TASK] = ar_query_get_task,
	[AR_CMD_READ_OUTPUT] = ar_query_read_output,
	[AR_CMD_EXPLAIN] = ar_query_explain,
	[AR_CMD_LIST_ACTIONS] = ar_query_list_actions,
	[AR_CMD_GET_TOOL_INVENTORY] = ar_query_get_tool_inventory,
	[AR_CMD_GET_EXECUTION_ENVIRONMENT] = ar_query_get_execution_environment,
	[AR_CMD_CREATE_TOKEN] = ar_query_create_token,
	[AR_CMD_LIST_TOKENS] = ar_query_list_tokens,
	[AR_CMD_ROTATE_TOKEN] = ar_query_rotate_token,
	[AR_CMD_REVOKE_TOKEN] = ar_query_revoke_token,
	[AR_CMD_GET_SETTINGS] = ar_query_get_settings,
	[AR_CMD_LIST_WEBHOOKS] = ar_query_list_webhooks,
	[AR_CMD_LIST_TASK_PUSHES] = ar_query_list_task_pushes,
	[AR_CMD_LIST_AUDIT] = ar_query_list_audit,
	[AR_CMD_LIST_ARTIFACTS] = ar_query_list_artifacts,
	[AR_CMD_GET_ARTIFACT] = ar_query_get_artifact,
	[AR_CMD_LIST_WORKSPACES] = ar_query_list_workspaces,
	[AR_CMD_GET_WORKER] = ar_query_get_worker,
	[AR_CMD_LIST_WORKERS] = ar_query_list_workers,
	[AR_CMD_GET_WORKSPACE] = ar_query_get_workspace,
	[AR_CMD_INSPECT_WORKSPACE] = ar_query_inspect_workspace,
	[AR_CMD_LIST_CHECKPOINTS] = ar_query_list_checkpoints,
	[AR_CMD_DIFF_CHECKPOINTS] = ar_query_diff_checkpoints,
	[AR_CMD_DIFF_WORKSPACE] = ar_query_diff_workspace,
	[AR_CMD_GET_QUOTA] = ar_query_get_quota,
	[AR_CMD_LIST_SUBAGENTS] = ar_query_list_subagents,
	[AR_CMD_WAIT_SUBAGENTS] = ar_query_wait_subagents,
	[AR_CMD_GET_SCHEDULE] = ar_query_get_schedule,
	[AR_CMD_LIST_SCHEDULES] = ar_query_list_schedules,
	[AR_CMD_GET_JOB] = ar_query_get_job,
	[AR_CMD_LIST_JOBS] = ar_query_list_jobs,
	[AR_CMD_READ_EVENTS] = ar_query_read_events,
	[AR_CMD_COUNT_EVENTS] = ar_query_count_events,
	[AR_CMD_GET_USAGE] = ar_query_get_usage,
	[AR_CMD_FIND_TASKS] = ar_query_find_tasks,
	[AR_CMD_FIND_PROCESSES] = ar_query_find_processes,
};

struct ar_control *ar_control_new(struct ar_engine *engine, struct ar_follow *follow, struct ar_store *store,
				  const struct ar_placement *placement)
{
	struct ar_control *c = ar_new0(sizeof(*c));

	*c = (struct ar_control){ .engine = engine,
				  .follow = follow,
				  .store = store,
				  .placement = placement,
				  .json = ar_json_parser_new() };
	ar_list_init(&c->notes);
	ar_list_init(&c->creating);
	ar_list_init(&c->sends);
	return c;
}

void ar_control_serve_tokens(struct ar_control *c, struct ar_access *access)
{
	c->access = access;
}

void ar_control_free(struct ar_control *c)
{
	if (!c)
		return;
	ar_json_parser_free(c->json);
	ar_map_fini(&c->following);
	ar_control_forget_notes(c);
	ar_control_forget_sends(c);
	ar_read_cache_free(c->read_cache);
	ar_free(c);
}

/* ---- answers ---- */

int ar_control_error(uint16_t code, const char *message, struct ar_buf *out)
{
	return ar_control_error_later(code, message, 0, out);
}

int ar_control_error_later(uint16_t code, const char *message, uint32_t retry_ms, struct ar_buf *out)
{
	const struct ar_error_desc *desc = ar_error_describe(code ? code : AR_ERR_INTERNAL);
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_key(&w, "error");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "code", ar_str_from(desc->name));
	ar_jw_mstr(&w, "message", ar_str_from(message));
	ar_jw_mbool(&w, "retryable", desc->retryable);
	if (retry_ms)
		ar_jw_mint(&w, "retryAfterMs", retry_ms);
	ar_jw_mstr(&w, "next", ar_str_from(desc->doc));
	ar_jw_close(&w);
	ar_jw_close(&w);
	return desc->http;
}

static void count_outcome(struct ar_metrics *m, struct ar_call_count *count, uint16_t code)
{
	if (code) {
		ar_metric_add(m, AR_METRIC_COMMANDS, count->name, ar_str_from(ar_error_describe(code)->name),
			      1);
		return;
	}
	if (!count->ok)
		count->ok = ar_metric_find(m, AR_METRIC_COMMANDS, count->name, AR_STR("ok"));
	ar_metric_series_add(count->ok, 1);
}

/* Commands that another node answers are counted there. */
static void count_call(const struct ar_call *c)
{
	struct ar_metrics *m = ar_engine_metrics(c->control->engine);
	struct ar_call_count *count = &c->control->counts[c->command];

	if (!m)
		return;
	if (!count->durations) {
		count->name =
			c->command ? ar_str_from(ar_command_describe(c->command)->name) : AR_STR("verify");
		count->durations = ar_metric_find(m, AR_METRIC_COMMAND_DURATION, count->name, AR_STR_NONE);
	}
	count_outcome(m, count, c->code);
	ar_metric_series_observe(count->durations, ar_engine_now(c->control->engine) - c->began);
}

static void finish(struct ar_call *c)
{
	c->control->held -= c->held;
	c->held = 0;
	ar_creating_over(c);
	c->done(c);
}

void ar_call_done(struct ar_call *c, int http)
{
	c->http = http;
	count_call(c);
	finish(c);
}

void ar_call_fail(struct ar_call *c, const struct ar_error *err)
{
	ar_buf_clear(&c->reply);
	c->code = err->code ? err->code : AR_ERR_INTERNAL;
	ar_call_done(c, ar_control_error(err->code, err->msg, &c->reply));
}

void ar_call_fail_or_move(struct ar_call *c, const struct ar_error *err)
{
	if (err->code != AR_ERR_NOT_OWNER || c->is_from_peer) {
		ar_call_fail(c, err);
		return;
	}
	c->place = AR_PLACE_UNSETTLED;
	finish(c);
}

void ar_call_refuse(struct ar_call *c, uint16_t code, const char *fmt, ...)
{
	struct ar_error err = { .status = AR_E_REFUSED, .code = code };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err.msg, sizeof(err.msg), fmt, ap);
	va_end(ap);
	ar_call_fail(c, &err);
}

struct ar_str ar_call_reply(const struct ar_call *c)
{
	return ar_buf_str(c->kept ? &c->kept->text : &c->reply);
}

void ar_call_fini(struct ar_call *c)
{
	ar_kept_reply_drop(c);
	ar_arena_fini(&c->arena);
	ar_buf_fini(&c->reply);
}

void ar_call_reset(struct ar_call *c)
{
	struct ar_call kept = { .arena = c->arena, .reply = c->reply };

	ar_kept_reply_drop(c);
	ar_arena_reset(&kept.arena);
	if (kept.reply.room > KEPT_REPLY)
		ar_buf_fini(&kept.reply);
	ar_buf_clear(&kept.reply);
	*c = kept;
}

/* ---- inputs ---- */

enum ar_status ar_call_session(struct ar_str session_id, struct ar_str *ret_session_key, struct ar_error *err)
{
	*ret_session_key = ar_id_session_key(session_id);
	if (ar_str_absent(*ret_session_key) || !ar_str_starts(session_id, AR_STR("sess_")) ||
	    session_id.len != AR_SESSION_KEY_LEN + 5)
		return ar_refuse(err, AR_ERR_SESSION_NOT_FOUND, "there is no session '%.*s'",
				 AR_STR_ARG(ar_str_utf8_prefix(session_id, 64)));
	return AR_OK;
}

enum ar_place ar_control_place(const struct ar_control *c, struct ar_str session_key,
			       struct ar_str *ret_address)
{
	*ret_address = AR_STR_NONE;
	return c->placement ? c->placement->find(c->placement->arg, session_key, ret_address) : AR_PLACE_HERE;
}

bool ar_call_is_here(struct ar_call *c, struct ar_str session_key)
{
	struct ar_str address;
	enum ar_place place = ar_control_place(c->control, session_key, &address);

	if (place == AR_PLACE_HERE)
		return true;
	if (c->is_from_peer) {
		ar_call_refuse(c, AR_ERR_NOT_OWNER, "this node does not own the session");
		return false;
	}
	c->place = place;
	c->peer = ar_arena_str(&c->arena, address);
	finish(c);
	return false;
}

/* Its partition may have moved while its tenant was looked up. */
static void read_view(struct ar_call *c)
{
	c->work->view.tenant = ar_control_who(c->who)->tenant;
	if (ar_call_is_here(c, c->work->view.session))
		ar_engine_look(c->control->engine, &c->work->view);
}

void ar_call_look_else(struct ar_call *c, ar_query_fn *on_foreign)
{
	if (ar_call_is_here(c, c->work->view.session))
		ar_call_check_tenant(c, c->work->view.session, read_view, on_foreign);
}

void ar_call_look(struct ar_call *c)
{
	ar_call_look_else(c, ar_call_no_session);
}

enum ar_status ar_call_decode(struct ar_control *c, enum ar_command command, struct ar_str body,
			      struct ar_arena *a, const void **ret, struct ar_error *err)
{
	const struct ar_command_desc *desc = ar_command_describe(command);
	void *input = ar_arena_alloc(a, desc->in.size);
	enum ar_status rc;
	struct ar_json v;

	if (ar_str_empty(body))
		body = AR_STR("{}");
	if (ar_json_parse(c->json, body, &v, err) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_JSON, "the body is not one JSON object: %.120s",
				 err->msg);
	if (ar_json_type(v) != AR_JSON_OBJECT)
		return ar_refuse(err, AR_ERR_INVALID_JSON, "the body is not a JSON object");
	rc = ar_input_decode(desc, v, a, input, err);
	ar_json_parser_trim(c->json); /* what was decoded is in the arena */
	if (rc != AR_OK) {
		err->code = AR_ERR_INVALID_INPUT;
		return err->status = AR_E_REFUSED;
	}
	*ret = input;
	return AR_OK;
}

bool ar_call_is_list_cursor(struct ar_call *c, struct ar_str cursor)
{
	struct ar_str probe = ar_arena_fmt(&c->arena, "sess_%.*s", AR_STR_ARG(cursor));

	return cursor.len == AR_SESSION_KEY_LEN && !ar_str_absent(ar_id_session_key(probe));
}

size_t ar_call_limit(struct ar_opt_int limit, size_t by_default, size_t most)
{
	if (!limit.set || limit.v < 1)
		return by_default;
	return (size_t)limit.v < most ? (size_t)limit.v : most;
}

void ar_control_call(struct ar_control *control, struct ar_call *c)
{
	const struct ar_command_desc *desc = ar_command_describe(c->command);
	struct ar_error err = { 0 };

	c->control = control;
	c->began = ar_engine_now(control->engine);
	if (ar_control_admit(control, c->who, &c->from, desc, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	if (!desc->built || (desc->target.kind == AR_TARGET_NONE && !queries[c->command])) {
		ar_call_refuse(c, AR_ERR_UNAVAILABLE, "%s is not implemented yet", desc->name);
		return;
	}
	if (ar_control_reserve_memory(c, desc, &err) != AR_OK ||
	    ar_call_decode(control, c->command, c->body, &c->arena, &c->input, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	if (c->forget_body && !control->placement)
		c->forget_body(c);
	c->work = ar_arena_room(&c->arena, sizeof(*c->work));
	memset(c->work, 0, offsetof(struct ar_call_work, write));
	c->work->call = c;
	if (queries[c->command])
		queries[c->command](c);
	else
		ar_call_write(c);
}
