/* What the shared library of another version's core exports. It is found by dlopen(), so that both
 * versions keep their names. */
#ifndef AR_REFERENCE_H
#define AR_REFERENCE_H

#include <stddef.h>

#define AR_REFERENCE_DECIDE "ar_reference_decide"
#define AR_REFERENCE_SIZES "ar_reference_sizes"

struct ar_neutral_input;

/* The trace of a decision on a session that is restored from its snapshot (of length 0: it does not
 * exist yet); the caller frees it. Only struct ar_neutral_input and what it points at is shared between
 * the versions: their sizes have to agree. */
typedef char *ar_reference_decide_fn(const char *session_key, const char *snapshot, size_t len,
				     const struct ar_neutral_input *n);

/* sizeof(struct ar_neutral_input), sizeof(struct ar_policy) */
typedef void ar_reference_sizes_fn(size_t ret[2]);

#endif
