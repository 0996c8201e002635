/* What every engine does alike with an operation: take its session apart, refuse what cannot be right,
 * find its result fields. Pure functions over the caller's memory; any thread. */
#ifndef AR_EDGE_STORE_OP_H
#define AR_EDGE_STORE_OP_H

#include "store.h"
#include "store/due.h"
#include "store_token.h"

#define AR_STORE_KEY 16 /* bytes of a session key */
#define AR_STORE_VALUE_MAX (256u << 20) /* of one body, snapshot, record or blob */
#define AR_STORE_NAME_MAX 1024 /* of a scope, key, task, action or step: what engines can index */

/* A session as stored: the 16 bytes its 26 characters stand for, which sort the same way. */
struct ar_store_key {
	uint8_t b[AR_STORE_KEY];
};

AR_BEGIN_DECLS

bool ar_store_key_parse(struct ar_str session, struct ar_store_key *ret);
struct ar_str ar_store_key_text(struct ar_arena *a, const struct ar_store_key *key);
struct ar_str ar_store_key_bytes(const struct ar_store_key *key);

/* The session an operation is about; absent for those over all sessions. */
struct ar_str ar_store_op_session(const struct ar_store_op *op);
bool ar_store_op_is_write(const struct ar_store_op *op);

/* The tenant of a row, which may leave it out. */
struct ar_str ar_store_tenant_of(struct ar_str tenant);

/* Whether a session is in one of the partitions that are asked for (NULL: all). */
bool ar_store_partitions_have(const uint64_t *partitions, const struct ar_store_key *key);
bool ar_store_sessions_match(const struct ar_store_sessions *op, const struct ar_store_key *key);

/* Which list of actions is asked for. */
enum ar_store_actions_filter {
	AR_STORE_ACTIONS_ALL,
	AR_STORE_ACTIONS_TENANT,
	AR_STORE_ACTIONS_TENANT_ACCOUNT,
	AR_STORE_ACTIONS_SESSION,
};
enum ar_store_actions_filter ar_store_actions_filter(const struct ar_store_actions *op);

/* Guards that need no stored state. AR_E_INVALID or AR_E_LIMIT with a sentence. */
enum ar_status ar_store_check_append(const struct ar_store_append *a, struct ar_store_key *ret,
				     struct ar_error *err);
enum ar_status ar_store_check_chunk(const struct ar_store_chunk *c, struct ar_store_key *ret,
				    struct ar_error *err);

enum ar_status ar_store_check_audit(const struct ar_store_audit *e, struct ar_error *err);
enum ar_status ar_store_check_token(const struct ar_store_token_put *p, struct ar_error *err);

/* Whether a row of the log is the one that a window goes on with: `next` is the fact that has to come, and is
 * in it; behind another row it begins there (forward), or ends there (backward). AR_E_CORRUPT when it is
 * not. */
struct ar_store_row_expected {
	uint64_t next;
	bool backward, is_first;
};
enum ar_status ar_store_check_row(const struct ar_store_row_expected *w, uint64_t first_seq,
				  uint64_t last_seq, struct ar_error *err);

/* The same for a log that ends before fact `next`; and for a session that is known and has no log. */
enum ar_status ar_store_fail_missing(struct ar_error *err, uint64_t next);
enum ar_status ar_store_fail_no_log(struct ar_error *err);

/* Facts `first_seq` to `last_seq` cannot be read, for the reason that err has. */
enum ar_status ar_store_fail_facts(struct ar_error *err, uint64_t first_seq, uint64_t last_seq);

/* A loaded session: its facts go on behind the snapshot, without a gap up to `head`. */
enum ar_status ar_store_check_load(const struct ar_store_load *op, uint64_t head, struct ar_error *err);

/* Holds content against the hash that it is stored under: AR_E_CORRUPT when it is other content, which is
 * taken away. */
enum ar_status ar_store_check_content(const struct ar_hash *hash, struct ar_str *bytes, struct ar_error *err);

/* The sentences that all engines share. */
enum ar_status ar_store_fail_fenced(struct ar_error *err, uint64_t own);
enum ar_status ar_store_fail_gap(struct ar_error *err, uint64_t first_seq, uint64_t head);
enum ar_status ar_store_fail_exists(struct ar_error *err, struct ar_str scope, struct ar_str key);
enum ar_status ar_store_fail_key(struct ar_error *err, struct ar_str session);
enum ar_status ar_store_fail_unknown(struct ar_error *err, struct ar_str session);
enum ar_status ar_store_fail_no_task(struct ar_error *err, struct ar_str task);
enum ar_status ar_store_fail_no_receipt(struct ar_error *err, struct ar_str key);
enum ar_status ar_store_fail_token(struct ar_error *err, struct ar_str token);

/* An arena array that can take one more: `old` while it has room, else a copy of twice the size. Room is
 * the next power of two, so only `count` needs keeping. */
void *ar_store_extend(struct ar_arena *a, void *old, size_t count, size_t size);

/* Next number of a seeded sequence (splitmix64), for crash and fault plans. */
uint64_t ar_store_random(uint64_t *state);

AR_END_DECLS

#endif
