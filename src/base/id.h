/* Identities. A session is `sess_` + 26 characters of Crockford base32 over a UUIDv7; everything inside it
 * is `<prefix>_<the same 26>_<counter>`, so any id alone names its session. Ids are text everywhere; these
 * functions make and take them apart. */
#ifndef AR_BASE_ID_H
#define AR_BASE_ID_H

#include "arena.h"

#define AR_SESSION_KEY_LEN 26 /* the characters that all ids of a session share: its key */
#define AR_ID_MAX 128 /* longest id we accept from a caller */

AR_BEGIN_DECLS

/* 26 characters (no NUL) of a fresh UUIDv7: time-ordered, monotonic within a process. */
void ar_id_mint(char out[AR_SESSION_KEY_LEN]);

/* The same from given parts, for tests and simulation. */
void ar_id_encode(const uint8_t uuid[16], char out[AR_SESSION_KEY_LEN]);

/* "<prefix>_<session key>" and "<prefix>_<session key>_<n>" in the arena. */
struct ar_str ar_id_root(struct ar_arena *a, const char *prefix, struct ar_str session_key);
struct ar_str ar_id_inner(struct ar_arena *a, const char *prefix, struct ar_str session_key, uint64_t n);

/* The 26 characters inside one of our ids (`x_<26>` or `x_<26>_<n>`); absent when the text is not of that
 * form. */
struct ar_str ar_id_session_key(struct ar_str id);

/* The same for an id that a caller chose inside a session: `x_<26>_<any of the letters of an id>`. */
struct ar_str ar_id_owner(struct ar_str id);

/* The counter of `x_<26>_<n>`; false when there is none. */
bool ar_id_counter(struct ar_str id, uint64_t *ret);

/* Sessions are spread over this many partitions, the unit of ownership in a cluster.
 * Never changes: it is stored. */
#define AR_PARTITIONS 1024

/* The partition of a session, from the 26 characters of its id: the first ten bits of the SHA-256 of
 * the 16 bytes they stand for. */
unsigned ar_id_partition(struct ar_str session_key);

/* Whether a caller may use this text as an id: 1..AR_ID_MAX of [A-Za-z0-9._:-]. */
bool ar_id_acceptable(struct ar_str id);

AR_END_DECLS

#endif
