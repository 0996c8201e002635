/* An export on its way: facts go in, in their order and all of them; those of its scope go out into files.
 *
 *   ar_pack_init -> ar_pack_fact ... -> [contents are looked for] -> ar_pack_close -> parts are stored
 *                                                                -> ar_pack_document
 *
 * Memory: one pending part per file, 16 bytes per content that facts name, and the limits below. */
#ifndef AR_EXPORT_PACK_H
#define AR_EXPORT_PACK_H

#include "case.h"
#include "codec.h"
#include "crypto/merkle.h"
#include "crypto/sign.h"
#include "pack_file.h"
#include "request_log.h"
#include "session.h"

#define AR_PACK_GAPS 200 /* named one by one; more are counted */
#define AR_PACK_TRACES 64 /* named at most */
#define AR_PACK_OUTCOMES 256 /* that others recorded: quoted at most */
#define AR_PACK_CONTENTS ((size_t)500000) /* contents of a pack at most */
#define AR_PACK_REVIEW ((size_t)768 * 1024) /* bytes of the facts in a review */

enum ar_pack_kind { AR_PACK_EVIDENCE = 1, AR_PACK_REPLAY, AR_PACK_REVIEW_PAGE };

/* In the order in which they are closed: each may name those before it. */
enum ar_pack_file_id {
	AR_PACK_EVENTS,
	AR_PACK_LEAVES, /* of a part of the log: the hash of each fact, so that the root can be computed */
	AR_PACK_TIMELINE,
	AR_PACK_MANIFEST, /* contents */
	AR_PACK_REQUESTS, /* lines of request logs that others recorded */
	AR_PACK_MODEL,
	AR_PACK_SUMMARY,
	AR_PACK_SUMS,
	AR_PACK_STATEMENT,
	AR_PACK_PAE,
	AR_PACK_SIGNATURE,
	AR_PACK_DSSE,
	AR_PACK_KEY,
	AR_PACK_FILES
};

/* What is asked for. Texts are borrowed. */
struct ar_pack_request {
	enum ar_pack_kind kind;
	struct ar_shape_evidence_scope scope; /* its session is set by ar_pack_init */
	bool leaves_contents; /* out: only their digests */
	bool references_contents; /* they stay where they are */
	struct ar_texts include; /* signals that must be there */
	struct ar_str assertions, instructions; /* of a replay */
};

struct ar_pack_content {
	struct ar_hash hash;
	uint64_t sequence; /* of the fact that named it first */
	bool is_input; /* of a turn: a replay needs it */
};

#define AR_PACK_SIGNALS 32

struct ar_pack {
	struct ar_pack_request request;
	struct ar_str session_key, runtime_id; /* borrowed */
	struct ar_arena arena;
	struct ar_pack_file files[AR_PACK_FILES];
	struct ar_merkle tree;
	uint64_t facts, first, last; /* of the scope: how many, and the sequences of both ends */
	uint64_t counts[AR_PACK_SIGNALS]; /* facts of each signal */
	uint64_t failed_calls, unjoined; /* the latter: facts of a request that name no turn */
	struct ar_str thread, run; /* of the first fact of the scope that has one; copied */
	struct ar_pack_content *contents; /* that facts named since they were last looked for */
	size_t content_count, content_room;
	struct ar_id_set seen; /* hashes of contents that were named */
	struct ar_request_logs logs; /* of evidence alone */
	uint64_t present; /* contents that are there */
	struct ar_shape_known_gap *gaps;
	size_t gap_count;
	uint64_t more_gaps;
	struct ar_str lost_input; /* ref of the input of a turn that is not stored any more */
	struct ar_texts traces;
	struct ar_case_writer *replay; /* NULL: it is none */
	struct ar_buf outcomes, review;
	size_t submitted, left_out; /* turns of the scope; of these not in the case */
	size_t outcome_count;
	struct ar_str signals; /* JSON, once it is closed */
	struct ar_hash root;
};

void ar_pack_init(struct ar_pack *p, const struct ar_pack_request *request, struct ar_str session_key,
		  struct ar_str runtime_id);
void ar_pack_fini(struct ar_pack *p);

/* The request without its mistakes; invalid_input else. */
AR_MUST_USE enum ar_status ar_pack_check(const struct ar_pack_request *request, struct ar_error *err);

/* A fact, and the line that it is in the log. */
void ar_pack_fact(struct ar_pack *p, const struct ar_event *e, struct ar_str line);

/* Contents [from, from + count) were looked for; absent: not stored. Then ar_pack_forget(). */
void ar_pack_found(struct ar_pack *p, size_t from, const struct ar_str *bytes, size_t count);
void ar_pack_forget(struct ar_pack *p);

/* Something that applies to the scope and is not in the export. */
void ar_pack_gap(struct ar_pack *p, struct ar_str part, const char *reason);

/* All facts were seen; `s` is the state after them. `key` NULL: nothing is signed. Refuses with
 * scope_not_found, input_unavailable, unavailable_refs. */
AR_MUST_USE enum ar_status ar_pack_close(struct ar_pack *p, const struct ar_session *s,
					 const struct ar_sign_key *key, struct ar_error *err);

/* What the ref of the export names, when all parts are stored. */
void ar_pack_document(struct ar_pack *p, const struct ar_sign_key *key, struct ar_buf *out);

/* ---- inside ---- */

/* Each signal by its number, NULL at the end; and the one of a type of fact. */
const char *ar_pack_signal(size_t i);
size_t ar_pack_signal_of(enum ar_event_type type);

void ar_pack_write_signals(struct ar_pack *p, struct ar_jw *w);
void ar_pack_write_scope(const struct ar_pack *p,
			 struct ar_jw *w); /* members: correlation, scope, tree ... */
void ar_pack_sign(struct ar_pack *p, const struct ar_sign_key *key);
void ar_pack_review_fact(struct ar_pack *p, const struct ar_event *e, struct ar_str line);
void ar_pack_review(struct ar_pack *p, const struct ar_session *s, struct ar_buf *out);

#endif
