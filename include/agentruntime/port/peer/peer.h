/* The peer port: asks one remote agent (A2A) and brings its answers in our words. The core never sees the
 * peer's JSON; what a state means for a task of ours is decided there.
 *
 * Contract: loop thread only. One object per configured peer. The caller owns the run and what it points to
 * until on_done, which comes exactly once, never before start() returned, also after cancel() and close().
 * on_update comes before it, never after cancel(). All that a callback is given lives until it returns.
 * Nothing is sent twice: a run that failed after its request left says so (is_sent), and the caller looks for
 * what became of it. */
#ifndef AR_PORT_PEER_H
#define AR_PORT_PEER_H

#include "clock.h"
#include "status.h"
#include "str.h"

enum ar_peer_op {
	AR_PEER_CARD = 1, /* what the peer says of itself; always asked anew */
	AR_PEER_SEND, /* a message; the peer is asked to answer at once, with its task */
	AR_PEER_GET, /* the task as it is */
	AR_PEER_LIST, /* tasks of a context, newest first, one page */
	/* The task until it ends or asks for input. Goes on after a cut with the whole task. */
	AR_PEER_FOLLOW,
	AR_PEER_CANCEL,
};

/* How FOLLOW learns of changes. */
enum ar_peer_way {
	AR_PEER_BY_STREAM, /* of updates; of a peer without streams, by asking */
	AR_PEER_BY_ASKING,
	AR_PEER_BY_PUSH, /* by asking when wake() says that the peer posted something, and now and then */
};

/* The states of A2A. The text the peer used is kept beside it. */
enum ar_peer_state {
	AR_PEER_STATE_NONE, /* this update says nothing of it */
	AR_PEER_STATE_UNKNOWN, /* unspecified, or a word that is not in the standard */
	AR_PEER_STATE_SUBMITTED,
	AR_PEER_STATE_WORKING,
	AR_PEER_STATE_INPUT_REQUIRED,
	AR_PEER_STATE_AUTH_REQUIRED,
	AR_PEER_STATE_COMPLETED, /* from here on the task has ended */
	AR_PEER_STATE_FAILED,
	AR_PEER_STATE_CANCELED,
	AR_PEER_STATE_REJECTED,
};

static inline bool ar_peer_state_is_end(enum ar_peer_state s)
{
	return s >= AR_PEER_STATE_COMPLETED;
}

enum ar_peer_error {
	AR_PEER_OK,
	AR_PEER_UNREACHABLE, /* no answer came; is_sent tells whether the peer can have done anything */
	AR_PEER_AUTH, /* 401 or 403: our credentials are not accepted, or there are none */
	AR_PEER_REFUSED, /* it answered, and will not do it */
	AR_PEER_NOT_FOUND, /* it does not know the task */
	AR_PEER_PROTOCOL, /* what came is no A2A, or contradicts itself */
	AR_PEER_TOO_LARGE, /* more than the settings allow */
	AR_PEER_UNSUPPORTED, /* it cannot do that, or speaks no version and binding of ours */
	AR_PEER_UNTRUSTED, /* its card has no valid signature of a pinned key, or points elsewhere */
	AR_PEER_TIMEOUT, /* the deadline of the run */
	AR_PEER_CANCELLED, /* by cancel() or close() */
};

enum ar_peer_part_kind { AR_PEER_PART_TEXT = 1, AR_PEER_PART_RAW, AR_PEER_PART_URL, AR_PEER_PART_DATA };

struct ar_peer_part {
	enum ar_peer_part_kind kind;
	/* TEXT: UTF-8; RAW: the bytes, decoded; URL: the address, fetched by nobody; DATA: JSON text */
	struct ar_str bytes;
	struct ar_str media_type; /* as the peer says; absent: it does not */
	struct ar_str name; /* of a file; absent: none */
};

struct ar_peer_artifact {
	struct ar_str id; /* unique in the task */
	struct ar_str name, description; /* absent: none */
	const struct ar_peer_part *parts;
	size_t part_count;
	bool is_append; /* the parts go behind those that came before */
	bool is_last; /* nothing more of it comes; of a whole task: always */
};

/* A whole task, a change of its state, or a piece of an artifact. */
struct ar_peer_update {
	struct ar_str task_id; /* the peer's; absent: it answered by a message alone */
	struct ar_str context_id; /* absent: not said */
	enum ar_peer_state state;
	struct ar_str native_status; /* the word the peer used; absent with STATE_NONE */
	/* Of the status, or of an answer by message alone: its text parts. Never the output of a task. */
	struct ar_str message, message_id;
	ar_usec time; /* of the status, wall clock; 0: not said */
	const struct ar_peer_artifact *artifacts;
	size_t artifact_count;
	bool is_whole; /* the artifacts are all that the task has */
};

struct ar_peer_card {
	struct ar_str name, description, version; /* of the agent */
	struct ar_str url, binding, protocol_version, tenant; /* of the interface that is used */
	struct ar_str ref; /* sha256: and the hash of the card's bytes */
	struct ar_str text; /* the card itself, as a capability snapshot to keep; JSON */
	struct ar_str key_id; /* of the pinned key that signed it; absent: no key is pinned */
	bool has_streaming, has_push, is_signature_checked;
	bool is_repeat_safe; /* it says that the same message, sent again, is the same task */
};

struct ar_peer_result {
	enum ar_peer_error error;
	bool is_sent; /* a request left: the peer can have acted, whatever the error is */
	int http; /* 0: there was no answer */
	int32_t code; /* of the peer's own error (A2A, JSON-RPC); 0: none */
	int64_t retry_after_ms; /* the peer asks not to be called before; 0: it does not */
	struct ar_str reason; /* a sentence; absent: all is well */
	const struct ar_peer_card *card; /* CARD; NULL: failed */
	const struct ar_peer_update *tasks; /* SEND, GET, CANCEL: one; FOLLOW: the last state; LIST: a page */
	size_t task_count;
	struct ar_str next_page; /* LIST: token of the next page; absent: it was the last */
};

struct ar_peer_run {
	enum ar_peer_op op;
	struct ar_str task_id; /* the peer's. GET, FOLLOW, CANCEL; SEND to a task that exists */
	struct ar_str context_id; /* SEND, LIST; absent: the peer chooses one */
	struct ar_str message_id, text; /* SEND */
	struct ar_str page; /* LIST; absent: the first */
	/* SEND: where the peer is to post updates, and the token it has to show; absent: nowhere */
	struct ar_str push_url, push_token;
	enum ar_peer_way way; /* FOLLOW */
	struct ar_str trace_parent; /* W3C traceparent; absent: nothing is traced */
	ar_usec deadline; /* monotonic; of all of it */
	void (*on_update)(struct ar_peer_run *r, const struct ar_peer_update *u); /* FOLLOW; NULL: none */
	void (*on_done)(struct ar_peer_run *r, const struct ar_peer_result *result);
	void *peer_state; /* the port's own */
};

struct ar_peer;

struct ar_peer_vtable {
	void (*start)(struct ar_peer *p, struct ar_peer_run *r);
	void (*cancel)(struct ar_peer *p, struct ar_peer_run *r);
	/* FOLLOW by push, under way: the peer posted something about the task. It is asked, soon, and
	 * once for all that is posted until then. */
	void (*wake)(struct ar_peer *p, struct ar_peer_run *r);
	/* Ends what is open as cancelled before it returns; not from inside a callback. */
	void (*close)(struct ar_peer *p);
};

struct ar_peer {
	const struct ar_peer_vtable *v;
};

#endif
