/* Inside control: how a call is answered. */
#ifndef AR_CONTROL_PRIV_H
#define AR_CONTROL_PRIV_H

#include "control.h"
#include "describe.h"
#include "engine.h"

struct ar_control {
	struct ar_engine *engine;
	struct ar_follow *follow;
	struct ar_store *store;
	const struct ar_placement *placement; /* NULL: all is here */
	struct ar_json_parser *json;
};

/* What a call has on its way: a write through its session, or the looks and store operations of a read. In the call's arena. */
struct ar_call_work {
	struct ar_call *call;
	struct ar_engine_request write;
	struct ar_engine_view view;
	struct ar_store_read read;
	struct ar_store_sessions sessions;
	struct ar_store_tasks tasks;
	struct ar_store_actions actions;
	struct ar_store_blobs_get blobs;
	struct ar_hash hash;
	size_t limit;
};

/* call.c */
void ar_call_done(struct ar_call *c, int http);
void ar_call_refuse(struct ar_call *c, uint16_t code, const char *fmt, ...) AR_PRINTF(3, 4);
void ar_call_fail(struct ar_call *c, const struct ar_error *err);

/* The engine's refusal: not_owner (nothing was done, the session is on its way to another node) becomes a place to ask again for. */
void ar_call_fail_or_move(struct ar_call *c, const struct ar_error *err);

/* The 26 characters in a session id of a caller; a refusal when it has another form. */
AR_MUST_USE enum ar_status ar_call_session(struct ar_str session_id, struct ar_str *ret_core,
					   struct ar_error *err);

/* Where a session is worked on, or (core absent) where a new one may be made. */
enum ar_place ar_control_place(const struct ar_control *c, struct ar_str core, struct ar_str *ret_address);

/* Whether the session is worked on here. If not, the call is over: done() was called with its place. */
bool ar_call_is_here(struct ar_call *c, struct ar_str core);

/* ar_engine_look() of the call's view, where the session is. */
void ar_call_look(struct ar_call *c);

/* Decodes and checks a JSON input of a command; the struct is in the arena. */
AR_MUST_USE enum ar_status ar_call_decode(struct ar_control *c, enum ar_command command, struct ar_str body,
					  struct ar_arena *a, const void **ret, struct ar_error *err);

/* Whether it can be what a list of sessions gave as nextCursor. */
bool ar_call_is_list_cursor(struct ar_call *c, struct ar_str cursor);

/* How many a caller gets: what was asked for, at most `most`. */
#define AR_LIST_DEFAULT 50
#define AR_LIST_MAX 200
size_t ar_call_limit(struct ar_opt_int limit, size_t by_default, size_t most);

/* write.c */
void ar_call_write(struct ar_call *c);

/* query_*.c */
typedef void ar_query_fn(struct ar_call *c);
ar_query_fn ar_query_get_session, ar_query_get_thread_read, ar_query_list_sessions, ar_query_list_tasks,
	ar_query_get_task, ar_query_read_output, ar_query_explain, ar_query_list_actions,
	ar_query_get_tool_inventory;

#endif
