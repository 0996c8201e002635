/* A replay beside the live session: rows of the log become state, and on the way it is noted what the store must hold for them: a
 * digest per task row (8 bytes per task of the session, the only thing here that grows with it) and the contents that facts name.
 * Owner: the loop thread. */
#ifndef AR_ENGINE_VERIFY_FOLD_H
#define AR_ENGINE_VERIFY_FOLD_H

#include "codec.h"
#include "session.h"
#include "store.h"

#define AR_FOLD_KEEP_MAX 256 /* task rows that one repair writes */

/* A content that a fact names. */
struct ar_fold_ref {
	struct ar_hash hash;
	uint64_t sequence;
};

/* The row of one task as the log says it, kept for a repair. */
struct ar_fold_kept {
	uint64_t task; /* its number */
	struct ar_store_task_row row;
};

struct ar_fold {
	struct ar_session state;
	struct ar_json_parser *json; /* borrowed, for one text at a time */
	bool is_bare; /* nothing but the state is wanted */
	uint64_t renewed; /* sequence when the state's memory was last renewed */
	uint64_t *digests; /* by task number - 1; 0 = the log gives it no row */
	size_t digest_count;
	struct ar_fold_ref *refs; /* named since the last ar_fold_forget_refs(), each once */
	size_t ref_count, ref_room;
	struct ar_fold_kept *kept; /* which rows to keep: filled by the caller, in rising order */
	size_t kept_count;
	struct ar_arena arena; /* of one row */
	struct ar_arena kept_arena;
	struct ar_buf scratch;
};

void ar_fold_init(struct ar_fold *f, struct ar_str core, struct ar_json_parser *json,
		  struct ar_json_parser *member_json);
void ar_fold_fini(struct ar_fold *f);

/* Folds rows on. AR_E_CORRUPT: fact state.head + 1 is missing, does not decode, or cannot follow. */
AR_MUST_USE enum ar_status ar_fold_rows(struct ar_fold *f, const struct ar_store_row *rows, size_t count,
					struct ar_error *err);

/* Goes on from a stored snapshot instead of from nothing. */
AR_MUST_USE enum ar_status ar_fold_restore(struct ar_fold *f, struct ar_str snapshot, struct ar_error *err);

/* The number in a task's id, 0 when it is not of this session. */
uint64_t ar_fold_task_number(const struct ar_fold *f, struct ar_str task);

/* What stands for a task row; never 0. */
uint64_t ar_fold_digest(struct ar_fold *f, const struct ar_store_task_row *row);

void ar_fold_forget_refs(struct ar_fold *f);

#endif
