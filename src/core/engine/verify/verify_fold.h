/* A replay beside the live session: rows of the log become state, and on the way it is noted what the
 * store must hold for them: a digest per task and action row (8 bytes each, the only thing here that
 * grows with the session) and the contents that facts name. Owner: the loop thread. */
#ifndef AR_ENGINE_VERIFY_FOLD_H
#define AR_ENGINE_VERIFY_FOLD_H

#include "codec.h"
#include "session.h"
#include "store.h"

#define AR_FOLD_KEEP_MAX 256 /* task and action rows that one repair writes */

/* Rows that a session has many of, each named by a number in its id. */
enum ar_fold_kind { AR_FOLD_TASK, AR_FOLD_ACTION, AR_FOLD_KINDS };

/* A content that a fact names. */
struct ar_fold_ref {
	struct ar_hash hash;
	uint64_t sequence;
};

/* One row as the log says it, kept for a repair. */
struct ar_fold_kept {
	enum ar_fold_kind kind;
	uint64_t number;
	struct ar_store_task_row task; /* by kind */
	struct ar_store_action_row action;
};

/* A task whose id is the caller's own, and the number that stands for it. */
struct ar_fold_name {
	struct ar_str id;
	uint64_t number;
};

struct ar_fold_digests {
	uint64_t *at; /* by number - 1; 0 = the log gives it no row */
	size_t count;
};

struct ar_fold {
	struct ar_session state;
	struct ar_json_parser *json; /* borrowed, for one text at a time */
	bool is_bare; /* nothing but the state is wanted */
	uint64_t until; /* sequence of the last fact that is folded; 0: all are */
	void (*each)(void *arg, const struct ar_event *e, struct ar_str line); /* of each; NULL: none */
	void *arg;
	uint64_t renewed; /* sequence when the state's memory was last renewed */
	struct ar_fold_digests digests[AR_FOLD_KINDS];
	struct ar_fold_name *names;
	size_t name_count, name_room;
	struct ar_fold_ref *refs; /* named since the last ar_fold_forget_refs(), each once */
	size_t ref_count, ref_room;
	struct ar_hash *removed; /* contents that facts say were removed */
	size_t removed_count, removed_room;
	struct ar_fold_kept *kept; /* which rows to keep: kind and number are the caller's */
	size_t kept_count;
	struct ar_arena arena; /* of one row */
	struct ar_arena kept_arena;
	struct ar_buf scratch;
};

void ar_fold_init(struct ar_fold *f, struct ar_str session_key, struct ar_json_parser *json,
		  struct ar_json_parser *member_json);
void ar_fold_fini(struct ar_fold *f);

/* Folds rows on. AR_E_CORRUPT: fact state.head + 1 is missing, does not decode, or cannot follow. */
AR_MUST_USE enum ar_status ar_fold_rows(struct ar_fold *f, const struct ar_store_row *rows, size_t count,
					struct ar_error *err);

/* Goes on from a stored snapshot instead of from nothing. */
AR_MUST_USE enum ar_status ar_fold_restore(struct ar_fold *f, struct ar_str snapshot, struct ar_error *err);

/* The number in an id, 0 when it is not of that kind in this session; and the id of a number. */
uint64_t ar_fold_number(const struct ar_fold *f, enum ar_fold_kind kind, struct ar_str id);
struct ar_str ar_fold_id(const struct ar_fold *f, enum ar_fold_kind kind, uint64_t number,
			 struct ar_arena *a);

/* What stands for a row; never 0. */
uint64_t ar_fold_task_digest(struct ar_fold *f, const struct ar_store_task_row *row);
uint64_t ar_fold_action_digest(struct ar_fold *f, const struct ar_store_action_row *row);

void ar_fold_forget_refs(struct ar_fold *f);

/* Whether a fact says that this content was removed; after they were sorted. */
void ar_fold_sort_removed(struct ar_fold *f);
bool ar_fold_is_removed(const struct ar_fold *f, const struct ar_hash *hash);

#endif
