/* Rows that a store keeps: of sessions, tasks, actions, receipts, contents, of the log itself. Plain
 * data; text is borrowed, from the operation that brings a row or the arena of the one that reads it. */
#ifndef AR_PORT_STORE_ROWS_H
#define AR_PORT_STORE_ROWS_H

#include "hash.h"
#include "status.h"

/* What makes a repeated write the same write. Unique over (scope, key), until upkeep
 * removes it by its age. */
struct ar_store_receipt {
	struct ar_str scope; /* tenant and command, or what the key is unique in */
	struct ar_str key;
	struct ar_hash input; /* of the canonical input */
	struct ar_str reply; /* JSON that the first caller got */
};

/* Content by hash; stored once however often it is put. The session that puts it refers to it; upkeep removes
 * what no session refers to. */
struct ar_store_blob {
	struct ar_hash hash;
	struct ar_str bytes;
};

/* One row per session, for lists and for finding work after a crash. */
struct ar_store_session_row {
	bool active; /* has a turn that runs or waits: recovery looks at it */
	ar_usec created, updated;
	struct ar_str tenant; /* whose it is; absent counts as AR_TENANT_LOCAL (port/auth.h) */
	struct ar_str workspace, account, status;
	struct ar_str shell; /* JSON shown by list_sessions */
	ar_usec due; /* wall clock: when it is to be woken (store/due.h); 0: never */
	bool open; /* has tasks or processes that have not ended: lists of those look here */
	/* `active` and `open` are as in the row that is stored: their indexes need no look. Only written. */
	bool has_same_flags;
};

struct ar_store_task_row {
	struct ar_str task;
	struct ar_str status;
	struct ar_str record; /* JSON shown by get_task */
	bool is_internal;
};

/* One row per action (a question to a person), so that those of all sessions can be listed.
 * Written again when it changes. */
struct ar_store_action_row {
	struct ar_str action; /* not empty */
	struct ar_str tenant; /* as in struct ar_store_session_row */
	struct ar_str account; /* whose it is; absent: nobody's in particular */
	ar_usec created; /* not negative */
	bool is_pending; /* waits for an answer */
	struct ar_str record; /* JSON shown by list_actions */
};

/* One row per item of a list of a session that is too long for its state, such as the items of a job.
 * Written again when it changes. */
struct ar_store_item_row {
	uint64_t list; /* of the session; both at most INT64_MAX */
	uint64_t number;
	struct ar_str record; /* JSON */
};

/* What model calls used, to be added to what is stored of the same hour and names. Absent names count as
 * empty. */
struct ar_store_usage_row {
	int64_t hour; /* since 1970; not negative */
	struct ar_str tenant; /* as in struct ar_store_session_row */
	struct ar_str workspace, model; /* at most AR_STORE_USAGE_NAME bytes each */
	struct ar_str currency; /* the same; absent: the price is not known, and cost is 0 */
	int64_t requests, input_tokens, output_tokens, cached_tokens; /* not negative */
	int64_t cost; /* in 1e-9 of the currency */
};

/* An entry of the audit trail (store_audit.h): what filters and pages need, and the rest as JSON. */
struct ar_store_audit {
	struct ar_str tenant; /* whose entry it is; not empty */
	ar_usec at; /* wall clock */
	struct ar_str session; /* the 26 characters; absent: of no session */
	uint64_t sequence; /* of the first fact that was written with it; 0: none was */
	struct ar_str record; /* a JSON object */
};

struct ar_store_chunk_row {
	struct ar_str step;
	uint64_t pos;
	uint8_t kind;
	uint32_t index;
	struct ar_str bytes;
};

struct ar_store_row {
	uint64_t first_seq, last_seq;
	ar_usec at;
	struct ar_str body;
};

#endif
