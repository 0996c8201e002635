/* The files that agent-files says are changed, from `versions` of its answer (files/write/versions.h). It ran
 * in the sandbox on files that others wrote: what is not in the right form is left out. */
#ifndef AR_EDGE_CONTAINED_ARTIFACTS_H
#define AR_EDGE_CONTAINED_ARTIFACTS_H

#include "arena.h"
#include "json.h"
#include "tool.h"

#define AR_CONTAINED_ARTIFACTS_MAX 256 /* that one answer may have */

/* In the arena; text is the document's. NULL with a count of 0: there are none. */
const struct ar_tool_artifact *ar_contained_artifacts(struct ar_arena *a, struct ar_json versions,
						      size_t *ret_count);

#endif
