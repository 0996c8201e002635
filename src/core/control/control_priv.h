/* Inside control: how a call is answered. */
#ifndef AR_CONTROL_PRIV_H
#define AR_CONTROL_PRIV_H

#include "control.h"
#include "describe.h"
#include "engine.h"
#include "inspect.h"
#include "map.h"
#include "sender.h"

/* Where the calls of one command are counted; found with the first of them. */
struct ar_call_count {
	struct ar_str name;
	struct ar_metric_series *ok, *durations;
};

struct ar_creating;

struct ar_control {
	struct ar_engine *engine;
	struct ar_follow *follow;
	struct ar_store *store;
	const struct ar_placement *placement; /* NULL: all is here */
	struct ar_json_parser *json;
	/* session and channel -> struct ar_following, while a stream of it is open */
	struct ar_map following;
	struct ar_access *access; /* NULL: there are no tokens */
	struct ar_auth *auth; /* records refusals; NULL: not recorded */
	ar_control_room_fn *has_room; /* in memory; NULL: always */
	void *room_arg;
	ar_control_settings_fn *show_settings; /* NULL: there are none */
	void *settings_arg;
	ar_control_folder_fn *find_folder; /* NULL: there are no workspaces */
	void *folder_arg;
	struct ar_inspector *inspector; /* NULL: workspaces cannot be inspected */
	struct ar_workers *workers; /* NULL: not known whether any is reached */
	struct ar_list creating; /* struct ar_creating (quota/creating.h) */
	bool is_draining; /* no work is begun any more */
	size_t held; /* bytes that commands under way, which begin work, have brought */
	struct ar_list notes; /* struct ar_note (audit.c) that could not be written yet */
	size_t note_count;
	ar_control_carry_fn *carry; /* NULL: nobody carries notes to other nodes */
	void *carry_arg;
	struct ar_sender sender; /* send/send.c */
	struct ar_list sends; /* struct ar_control_send under way */
	ar_control_pass_fn *pass; /* NULL: there is no other node */
	void *pass_arg;
	struct ar_control_webhooks webhooks; /* zero: there are none */
	struct ar_call_count counts[AR_CMD_COUNT];
	struct ar_read_cache *read_cache; /* made with the first read */
};

/* What a call has on its way: a write through its session, or the looks and store operations of a read.
 * In the call's arena. The operations are large and a call has one or two of them: from `write` on each
 * is filled whole by who uses it, and only what is before is zeroed. */
struct ar_call_work {
	struct ar_call *call;
	void (*on_own)(struct ar_call *c); /* what follows when the session is the caller's */
	void (*on_foreign)(struct ar_call *c); /* and when it is not, or there is none */
	struct ar_engine_view view;
	struct ar_hash hash;
	size_t limit;
	struct ar_str token; /* that a channel gets; shown once, kept nowhere */
	void *walk; /* of a list that has its own (audit/query_audit.c) */
	const struct ar_shape_worker_record
		*worker; /* that is to have the folder of a new workspace; NULL: us */
	struct ar_creating *creating; /* a workspace of a tenant with a quota of them; NULL: not that */
	size_t base, size; /* of an output in parts: where this one begins, and all of it */
	bool is_replaced; /* what is read stands for an output that was redacted */
	bool is_older; /* the window of a session's history is not the newest one */

	struct ar_engine_request write;
	struct ar_store_tenant whose;
	struct ar_store_index index;
	struct ar_store_read read;
	struct ar_store_sessions sessions;
	struct ar_store_tasks tasks;
	struct ar_store_actions actions;
	struct ar_store_blobs_get blobs;
	struct { /* a channel of all sessions */
		struct ar_store_feed feed;
		struct ar_feed_bounds bounds;
		struct ar_str cursor, gap; /* where the feed was; what is missing in it, absent: nothing */
		int64_t position; /* of the cursor, the furthest */
		/* of the sessions that the caller names: what was found, and how many were looked for */
		struct ar_buf found, missing;
		size_t looked;
	} all;
};

/* admit.c */
/* Who asks; nobody in particular is the operator of an installation without tenants. */
const struct ar_principal *ar_control_who(const struct ar_principal *who);

/* Whether the principal has the right that a command or an operation asks for. Looks at nothing else,
 * so the refusal is the same whatever the call names. */
AR_MUST_USE enum ar_status ar_control_admit(struct ar_control *c, const struct ar_principal *who,
					    const struct ar_call_origin *from,
					    const struct ar_command_desc *what,
					    struct ar_error *err); /* from: NULL, not known */

/* A part of what the call asks, `what`, needs a right of its own. */
AR_MUST_USE enum ar_status ar_control_need_right(const struct ar_call *c, unsigned right, const char *scope,
						 const char *what, struct ar_error *err);

/* Whether there is memory for what the command begins; see ar_control_mind_memory(). Then it
 * is counted until it is done. */
AR_MUST_USE enum ar_status ar_control_reserve_memory(struct ar_call *c, const struct ar_command_desc *what,
						     struct ar_error *err);

/* What may be read of the home of one's tenant, and by whom: its audit facts, with the right to
 * administer. Of any other session: AR_OK. */
AR_MUST_USE enum ar_status ar_control_check_home(struct ar_control *c, const struct ar_principal *who,
						 struct ar_str session_key, struct ar_error *err);

/* The 26 characters of the home of one's tenant. */
struct ar_str ar_control_home(const struct ar_principal *who, struct ar_arena *a);

/* tenant_check.c */
typedef void ar_query_fn(struct ar_call *c);

/* The tenant check: goes on with `on_own` if the session is of the caller's tenant, with
 * `on_foreign` if it is another's or there is none; these two cannot be told apart by what was done
 * before. Every command that names something of a session comes by here, before anything of the
 * session is looked at. Exactly one of both follows, at once when the session is in memory; or the
 * call is over, because the store failed, or because it wants the tenant's home and may not.
 * `session_key` lives as long as the call. */
void ar_call_check_tenant(struct ar_call *c, struct ar_str session_key, ar_query_fn *on_own,
			  ar_query_fn *on_foreign);

/* session_not_found, in the words of one that does not exist. */
void ar_call_no_session(struct ar_call *c);

/* send/send.c */
void ar_control_forget_sends(struct ar_control *c);

/* audit.c */
void ar_control_forget_notes(struct ar_control *c);

/* read_cache.c */
/* A reply that the cache and the calls under way which it answers share; gone with the last of them. */
struct ar_kept_reply {
	size_t refs;
	struct ar_buf text;
};

/* Answers the call as the same one was answered before, if the session is the same still. `id`: what of
 * the session is asked for; absent: all. The command, it and the state make the whole answer. */
AR_MUST_USE bool ar_read_cache_answer(struct ar_call *c, const struct ar_session *s, struct ar_str id);

/* The reply is written and not sent yet: the next call may have it too. Then it is no longer in c->reply. */
void ar_read_cache_store(struct ar_call *c, const struct ar_session *s, struct ar_str id);

/* The call needs its kept reply no longer. */
void ar_kept_reply_drop(struct ar_call *c);
void ar_read_cache_free(struct ar_read_cache *k); /* NULL is fine */

/* call.c */
void ar_call_done(struct ar_call *c, int http);
void ar_call_refuse(struct ar_call *c, uint16_t code, const char *fmt, ...) AR_PRINTF(3, 4);
void ar_call_fail(struct ar_call *c, const struct ar_error *err);

/* The engine's refusal: not_owner (nothing was done, the session is on its way to another node)
 * becomes a place to ask again for. */
void ar_call_fail_or_move(struct ar_call *c, const struct ar_error *err);

/* The 26 characters in a session id of a caller; a refusal when it has another form. */
AR_MUST_USE enum ar_status ar_call_session(struct ar_str session_id, struct ar_str *ret_session_key,
					   struct ar_error *err);

/* Whether the session is worked on here. If not, the call is over: done() was called with its place. */
bool ar_call_is_here(struct ar_call *c, struct ar_str session_key);

/* ar_engine_look() of the call's view, where the session is, if it is the caller's; the other one says
 * what follows when it is not. */
void ar_call_look(struct ar_call *c);
void ar_call_look_else(struct ar_call *c, ar_query_fn *on_foreign);

/* Decodes and checks a JSON input of a command; the struct is in the arena. */
AR_MUST_USE enum ar_status ar_call_decode(struct ar_control *c, enum ar_command command, struct ar_str body,
					  struct ar_arena *a, const void **ret, struct ar_error *err);

/* Whether it can be what a list of sessions gave as nextCursor. */
bool ar_call_is_list_cursor(struct ar_call *c, struct ar_str cursor);

/* How many a caller gets: what was asked for, at most `most`. */
#define AR_LIST_DEFAULT 50
#define AR_LIST_MAX 200
size_t ar_call_limit(struct ar_opt_int limit, size_t by_default, size_t most);

/* subscribe.c: sets the flags (AR_EV_COUNT of them) of the event types and families that a caller names. */
AR_MUST_USE enum ar_status ar_call_types(struct ar_texts types, uint8_t *flags, struct ar_error *err);

/* write.c */
void ar_call_write(struct ar_call *c);
void ar_call_send(
	struct ar_call
		*c); /* the write as it stands; its partition may have moved while something was looked up */

/* workspace/bind.c: the write of the call, which makes a session, with the workspace that it names. */
void ar_call_send_bound(struct ar_call *c);

/* The same with the workspace that has this key; on_unknown: the store has none of the caller's tenant. */
void ar_call_bind(struct ar_call *c, struct ar_str key, ar_query_fn *on_unknown);

/* workspace/default.c: the same with the one that the settings give sessions without one; made if needed. */
void ar_workspace_use_default(struct ar_call *c);

/* The record in the index row that was read for the call, in its arena; NULL: there is none, or it cannot be
 * read. */
struct ar_struct_desc;
const void *ar_call_index_record(struct ar_call *c, const struct ar_struct_desc *desc, size_t size);

/* channel.c */
/* The session of a channel: the one that is named, or that its id is of; else the home of the caller's
 * tenant, whose channels follow all sessions. */
AR_MUST_USE enum ar_status ar_channel_target(struct ar_call *c, struct ar_str session_id,
					     struct ar_str channel_id, struct ar_str *ret_session_key,
					     struct ar_error *err);

/* connect_channel: refuses what the peer says of itself and what the server knows to be otherwise, or the
 * caller has no right to. */
AR_MUST_USE enum ar_status ar_channel_check_claims(const struct ar_call *c, struct ar_error *err);

/* Of connect_channel and reconnect_channel: the tokens for the decision. */
void ar_channel_tokens(struct ar_call *c, struct ar_channel_token *ret);

/* Their answers, which carry what no fact may. */
void ar_channel_connected(struct ar_call *c, struct ar_str channel);
void ar_channel_reconnected(struct ar_call *c, struct ar_str reply);

/* channel_home.c: the write of the call, in the home of its tenant; who may not read the
 * home may have a channel there. */
bool ar_channel_is_command(enum ar_command command);
void ar_channel_write_home(struct ar_call *c);
void ar_channel_home_reconnected(struct ar_call *c, struct ar_str gap); /* the answer */
/* Which sessions the snapshot lists is said for all sessions alone, and bounded. */
AR_MUST_USE enum ar_status ar_channel_check_sessions(const struct ar_cmd_reconnect_channel_in *in,
						     struct ar_str session_key, struct ar_error *err);

/* A stream for a channel of the session, of all sessions when none is asked for: where it goes on, and
 * what it is not told. Only for one whose session is in memory, as it is after connect_channel and
 * reconnect_channel: everything else is answered alike. */
enum ar_status ar_channel_follow(struct ar_control *c, const struct ar_cmd_subscribe_events_in *in,
				 struct ar_follow_request *r, uint8_t *flags, struct ar_subscribe_call *call,
				 struct ar_error *err);

/* query_session.c: the newest sessions of the caller's tenant, and what was found as a JSON object
 * with its shells under that name. */
struct ar_store_sessions ar_sessions_of(const struct ar_call *c, ar_store_done_fn *done);
void ar_list_write(const struct ar_store_sessions *found, const char *name, struct ar_jw *w);
void ar_list_answer(struct ar_store_op *op, const char *name); /* the call of ar_sessions_of(), with it */

/* workspace/commands.c: the write of a command about workspaces, which stands in the call's work. Its key is
 * reserved, and no other command writes there. */
bool ar_workspace_is_command(enum ar_command command);
void ar_workspace_write(struct ar_call *c);
void ar_workspace_refuse_unknown(struct ar_call *c); /* as one of another tenant */
void ar_workspace_make(struct ar_call *c,
		       const struct ar_shape_worker_record *worker); /* there; NULL: on this machine */

/* workspace/inspect.c: the write of the call, with what the files of the workspace bring now. */
void ar_workspace_trust(struct ar_call *c);

/* worker/place.c: a workspace is to be made on the worker of that id: goes on with ar_workspace_make(). */
void ar_worker_find_for(struct ar_call *c, struct ar_str id);

/* worker/commands.c: the same of a command about workers; and the answers that carry what no fact may. */
bool ar_worker_is_command(enum ar_command command);
void ar_worker_write(struct ar_call *c);
void ar_worker_refuse_unknown(struct ar_call *c); /* as one of another tenant */
void ar_worker_created(struct ar_call *c, struct ar_str reply);
void ar_worker_enrolled(struct ar_call *c, struct ar_str reply);
void ar_worker_removed(struct ar_call *c, struct ar_str reply);

/* worker/sandbox.c: what the worker of the session reported last, in the arena of the call; NULL: nothing
 * yet. */
const struct ar_sandbox_host *ar_worker_sandbox(struct ar_call *c, const struct ar_session *s);

/* schedule/commands.c: the same of a command about schedules. */
bool ar_schedule_is_command(enum ar_command command);
void ar_schedule_write(struct ar_call *c);

/* query_*.c */
ar_query_fn ar_query_get_session, ar_query_get_thread_read, ar_query_list_sessions, ar_query_list_tasks,
	ar_query_get_task, ar_query_read_output, ar_query_explain, ar_query_list_actions,
	ar_query_get_tool_inventory, ar_query_get_execution_environment, ar_query_create_token,
	ar_query_list_tokens, ar_query_rotate_token, ar_query_revoke_token, ar_query_get_settings,
	ar_query_list_audit, ar_query_list_artifacts, ar_query_get_artifact, ar_query_list_workspaces,
	ar_query_get_workspace, ar_query_inspect_workspace, ar_query_list_checkpoints,
	ar_query_diff_checkpoints, ar_query_get_worker, ar_query_list_workers, ar_query_diff_workspace,
	ar_query_get_quota, ar_query_list_subagents, ar_query_wait_subagents, ar_query_get_schedule,
	ar_query_list_schedules, ar_query_list_webhooks, ar_query_list_task_pushes, ar_query_get_job,
	ar_query_list_jobs, ar_query_read_events, ar_query_count_events, ar_query_get_usage,
	ar_query_find_tasks, ar_query_find_processes;

#endif
