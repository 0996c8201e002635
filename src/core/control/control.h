/* The entry point: every command of every transport arrives here as a name and a JSON text, and leaves
 * as an HTTP-like status and a JSON text. Decodes and validates by the catalogue, finds the session,
 * hands writes to its inbox and answers reads. Owner: the loop thread. */
#ifndef AR_CONTROL_CONTROL_H
#define AR_CONTROL_CONTROL_H

#include "arena.h"
#include "buf.h"
#include "catalog.h"
#include "follow.h"
#include "auth.h"
#include "json.h"
#include "place.h"

struct ar_access;
struct ar_control;
struct ar_following;
struct ar_kept_reply;
struct ar_call;
struct ar_engine;

typedef void ar_call_done_fn(struct ar_call *c);

/* One command on its way. The caller owns it (zeroed), fills the first part, and keeps it until done(). */
struct ar_call {
	enum ar_command command;
	struct ar_str body; /* JSON object; empty counts as {} */
	/* who asks; borrowed until done(). NULL: the operator of an installation without tenants */
	const struct ar_principal *who;
	struct ar_call_origin from; /* for the audit trail; text borrowed until done() */
	/* it may be answered with lines instead of a JSON object; and is, unless the input says otherwise */
	bool takes_lines, wants_lines;
	/* another node passed it on: it is answered here or refused, never passed on again */
	bool is_from_peer;
	ar_call_done_fn *done;
	/* NULL, or called at most once and before done(): the body was read, and no other node will get it */
	void (*forget_body)(struct ar_call *c);

	enum ar_place place; /* result: when not HERE nothing was done, and nothing below but `peer` is set */
	struct ar_str peer; /* PEER: the owner's address; lives as long as the call */
	int http; /* result: 200, 202, or the error's status */
	struct ar_buf reply; /* result: JSON text, written for this call; who sends it asks ar_call_reply() */
	uint16_t code; /* result: the error of the catalogue, 0 for none */
	bool is_lines; /* result: NDJSON */
	/* result, with is_lines: where to go on; absent: at the end. Lives as long as the call. */
	struct ar_str next_cursor;

	struct ar_arena arena; /* private from here on */
	struct ar_control *control;
	const void *input; /* struct ar_cmd_<name>_in */
	struct ar_call_work *work;
	struct ar_kept_reply *kept; /* the reply, when an earlier call had the same one */
	ar_usec began; /* monotonic */
	size_t held; /* bytes that it counts for while it is under way */
};

/* placement: NULL when every session is worked on here. */
struct ar_control *ar_control_new(struct ar_engine *engine, struct ar_follow *follow, struct ar_store *store,
				  const struct ar_placement *placement);
void ar_control_free(struct ar_control *c);

/* Whose tokens are administered by create_token and its like; borrowed. Without it they are unavailable. */
void ar_control_serve_tokens(struct ar_control *c, struct ar_access *access);

/* Records calls that were refused for lack of a right; borrowed, NULL: not recorded. */
void ar_control_guard(struct ar_control *c, struct ar_auth *auth);

/* Who is asked whether there is memory for one more command that begins work, with the bytes that
 * those under way and this one have brought. If not it is refused as overloaded; reads, answers,
 * reports and what ends work go on. */
typedef bool ar_control_room_fn(void *arg, size_t bytes);
void ar_control_mind_memory(struct ar_control *c, ar_control_room_fn *has_room, void *arg);

/* Who writes the members of get_settings; without it the command is unavailable. */
struct ar_jw;
typedef void ar_control_settings_fn(void *arg, struct ar_jw *w);
void ar_control_show_settings(struct ar_control *c, ar_control_settings_fn *show, void *arg);

/* The folder of a workspace that is to be created: the one that is named, or one that is made. The caller
 * owns it and keeps it until done(). */
struct ar_folder_request {
	struct ar_str root; /* a plain absolute path (no dots, no final slash); absent: one is made */
	struct ar_str person; /* who names it (port/auth.h): AR_PERSON_LOCAL or "uid:..." */
	struct ar_str home, key; /* 26 characters each: of the tenant, of the workspace */
	struct ar_str worker; /* wk_..., that is to have it; absent: this machine */
	/* The same of a session, for which a folder of its own is made below that of the workspace, whose
	 * root is `root`; absent: the folder is the workspace's */
	struct ar_str session;
	struct ar_arena *arena; /* the caller's; text of the result lives in it */
	void (*done)(struct ar_folder_request *r);

	/* Result; AR_E_REFUSED with policy_denied in the same words whatever is wrong with a root and
	 * whether it exists, or with unavailable */
	enum ar_status status;
	struct ar_error err;
	struct ar_str folder; /* result: with AR_OK */
};

/* Who is asked for folders of workspaces: exactly one done() per request, which may come before it
 * returns. Without it no workspace can be created. */
typedef void ar_control_folder_fn(void *arg, struct ar_folder_request *r);
void ar_control_serve_folders(struct ar_control *c, ar_control_folder_fn *find, void *arg);

/* Who says what the files of a workspace bring; borrowed. Without it none can be inspected or trusted. */
struct ar_inspector;
void ar_control_serve_inspector(struct ar_control *c, struct ar_inspector *inspector);

/* Who says whether a worker is reached, and who ends the connection of one that was removed; borrowed.
 * Without it that is unknown, and no workspace is made on a worker. */
struct ar_workers;
void ar_control_serve_workers(struct ar_control *c, struct ar_workers *workers);

/* A webhook of the settings; text is borrowed for the life of control. */
struct ar_webhook_setting {
	struct ar_str name, tenant;
	struct ar_str address; /* scheme and host of its URL */
	struct ar_texts events; /* as they are written there */
};

/* What waits at a webhook now. */
struct ar_webhook_status {
	int64_t waiting;
	ar_usec waiting_since; /* wall clock; 0: nothing waits */
	struct ar_str last_error; /* borrowed until the call returns; absent: none since the start */
};

/* Where the notifications of a push configuration go, and what is shown there. Text is borrowed. */
struct ar_push_target {
	struct ar_str tenant, task, config; /* what is encrypted is for this alone */
	struct ar_str url, token, scheme, credentials; /* the last three: absent: none */
};

/* What of it is stored. */
struct ar_push_sealed {
	struct ar_str sealed, address; /* all of it, encrypted; scheme and host of the url */
};

/* Who sends the events of webhooks. Without it there are none. */
struct ar_control_webhooks {
	const struct ar_webhook_setting *settings;
	size_t count;
	bool (*status)(void *arg, size_t index,
		       struct ar_webhook_status *ret); /* false: it does not run here */
	void (*redeliver)(void *arg, struct ar_str name); /* there is something to send again */
	/* NULL: push configurations are not offered. Refused: notifications may not go there. Text of the
	 * results lives in the arena. */
	enum ar_status (*seal)(void *arg, const struct ar_push_target *t, struct ar_arena *a,
			       struct ar_push_sealed *ret, struct ar_error *err);
	/* Into url and what follows it. False: it was encrypted with another key, or changed. */
	bool (*unseal)(void *arg, struct ar_str sealed, struct ar_arena *a, struct ar_push_target *t);
	void (*pushes_changed)(void *arg, struct ar_str tenant);
	void *arg;
};
void ar_control_serve_webhooks(struct ar_control *c, const struct ar_control_webhooks *w); /* copied */

/* Whether this node works on that session, and which does. */
enum ar_place ar_control_place(const struct ar_control *c, struct ar_str session_key,
			       struct ar_str *ret_address);

/* For the engine: takes commands of sessions to other sessions, as port/sender.h says. */
struct ar_sender;
struct ar_sender *ar_control_sender(struct ar_control *c);

/* A command on its way to the node at `address`. The caller owns it and keeps it until done(). */
struct ar_passed_call {
	struct ar_str address, body;
	const char *command;
	const struct ar_principal *who;
	/* code: error of the catalogue, 0: none. outcome_unknown: the answer was lost. */
	void (*done)(struct ar_passed_call *p, uint16_t code, struct ar_str reply);
};

/* Takes it there. False: it could not be begun, and done() is not called. It may also be dropped without
 * done() when the server closes. NULL: there is no other node. */
typedef bool ar_control_pass_fn(void *arg, struct ar_passed_call *p);
void ar_control_pass_calls(struct ar_control *c, ar_control_pass_fn *pass, void *arg);

/* With that function; false also where there is no other node. */
bool ar_control_pass(struct ar_control *c, struct ar_passed_call *p);

/* The runtime is about to stop: commands that begin work are refused as overloaded from
 * now on; the others go on. */
void ar_control_drain(struct ar_control *c);

/* Exactly one done() per call; it may come before this returns. A call that belongs
 * elsewhere comes back with its place: the caller passes it on, or (after ar_call_fini and
 * zeroing) calls again in a moment. */
void ar_control_call(struct ar_control *c, struct ar_call *call);
void ar_call_fini(struct ar_call *c);

/* The JSON text that answers a call which is done; lives until the call is reset. */
struct ar_str ar_call_reply(const struct ar_call *c);

/* Instead of fini and zeroing, before another call: some memory of the answered one is kept for it. */
void ar_call_reset(struct ar_call *c);

/* Verification of stored sessions, an operation beside the commands: {"sessionId"} or a page
 * {"cursor","limit"}, with "repair" wanted or not, to
 * {"sessions":[{sessionId,status,facts,findings}],"elsewhere","nextCursor"}. It takes the right to
 * administer; `command` is not looked at. A principal sees the sessions of its tenant, the operator of
 * an installation without tenants all there are. A call is always answered here: sessions that another
 * node works on are counted in `elsewhere`. */
void ar_control_verify(struct ar_control *c, struct ar_call *call);

/* Puts an act on the server as a whole on record, for who asks with this call (the right to is the
 * caller's to judge): answered with 200 and no text when it is durable, or refused, and then it is not
 * to be done. `command` is not looked at. */
void ar_control_act(struct ar_control *c, struct ar_call *call, const char *command);

/* The same for what nobody asked for with a call: a signal. Nobody waits for it. */
void ar_control_record(struct ar_control *c, const char *actor, const char *command);

/* An origin on its way to another node: members of an object that is open; and back,
 * text copied into the arena. */
void ar_control_write_origin(struct ar_jw *w, const struct ar_call_origin *from);
struct ar_call_origin ar_control_read_origin(struct ar_json v, struct ar_arena *a);

struct ar_subscribe_call {
	struct ar_str body; /* JSON input of subscribe_events */
	const struct ar_principal *who; /* as in struct ar_call; borrowed until this returns */
	enum ar_call_protocol protocol;
	bool is_from_peer;
	enum ar_place place; /* result */
	struct ar_str peer; /* result: PEER, the owner's address, valid until control returns to the loop */
	struct ar_arena *arena; /* private */
	/* result: of a channel's stream, to be given back when it ends; else NULL */
	struct ar_following *following;
};

/* Why a channel's stream ended. */
enum ar_leave {
	AR_LEAVE_CLOSED = 1, /* the peer went, or we stop */
	AR_LEAVE_SILENT, /* it took nothing for too long */
	AR_LEAVE_ERROR,
	AR_LEAVE_AUTH, /* its credential is not good any more */
};

/* The stream is over; with the last one of a channel it is disconnected. NULL is fine. */
void ar_control_leave(struct ar_following *f, enum ar_leave why);

/* subscribe_events. A refusal is returned with its catalogue code; code not_owner with `place` when the
 * session is elsewhere: nothing was begun. Otherwise the subscription's callbacks follow (see
 * follow.h), the first of them opened() or ended() (e.g. session_not_found). */
AR_MUST_USE enum ar_status ar_control_subscribe(struct ar_control *c, struct ar_subscribe_call *call,
						struct ar_subscription *s, struct ar_error *err);

/* Tells the home session of a tenant (see docs/tenants.md) of refused calls or of something
 * administered; the struct ar_audit_fn that a core/access is given. Nobody is answered:
 * what cannot be written now is kept, up to a number, until ar_control_audit_again(), which
 * is for about once a second. */
void ar_control_audit(void *control, const struct ar_audit *a);
void ar_control_audit_again(struct ar_control *c);

/* Takes a note to the node at that address, where ar_control_audit_told() is called with it;
 * borrowed. False: it could not. One that was lost comes back to ar_control_audit_told(), to be sent
 * again in a while (is_later). */
typedef bool ar_control_carry_fn(void *arg, struct ar_str address, struct ar_str note);
void ar_control_carry_audit(struct ar_control *c, ar_control_carry_fn *carry, void *arg);
void ar_control_audit_told(struct ar_control *c, struct ar_str note, bool is_later);

/* {"error":{code,message,retryable,next}} for transports that refuse before a call
 * exists. Returns the HTTP status. */
int ar_control_error(uint16_t code, const char *message, struct ar_buf *out);

/* The same with retryAfterMs. */
int ar_control_error_later(uint16_t code, const char *message, uint32_t retry_ms, struct ar_buf *out);

#endif
