/* The case of a replay on its way: facts of its turns wait until the texts that they name were read, then go
 * into the writer that `agentctl export --format replay` uses, too. */
#ifndef AR_EXPORT_CASE_H
#define AR_EXPORT_CASE_H

#include "hash.h"
#include "json.h"

#define AR_CASE_TURNS 256 /* of a case at most */
#define AR_CASE_FULL ((size_t)4 << 20) /* bytes: no further turn is taken */
#define AR_CASE_MAX ((size_t)16 << 20) /* bytes: one turn is too long to be run again */

struct ar_case_writer;

struct ar_case_writer *ar_case_new(struct ar_str session_key);
void ar_case_free(struct ar_case_writer *c); /* NULL: nothing happens */

/* A turn that begins is part of the case. False: the case is full. */
bool ar_case_admit(struct ar_case_writer *c, struct ar_str turn);

/* Facts of admitted turns, and those of no turn. */
void ar_case_fact(struct ar_case_writer *c, struct ar_str turn, struct ar_str line);

/* The contents that the oldest waiting fact needs next, at most `max`; 0: none waits any more. Then their
 * bytes; absent: not stored. */
size_t ar_case_wanted(struct ar_case_writer *c, struct ar_hash *hashes, size_t max);
void ar_case_bring(struct ar_case_writer *c, const struct ar_str *bytes, size_t count);

bool ar_case_is_empty(const struct ar_case_writer *c);
bool ar_case_is_too_long(const struct ar_case_writer *c);

/* The document; `members` are added to it. */
void ar_case_write(struct ar_case_writer *c, struct ar_str members, struct ar_buf *out);

#endif
