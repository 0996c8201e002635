/* A boundary as facts tell it: what agent-init read back from the kernel, and beside it what that
 * guarantees. */
#ifndef AR_SANDBOX_BOUNDARY_TEXT_H
#define AR_SANDBOX_BOUNDARY_TEXT_H

#include "arena.h"
#include "json.h"

/* From the JSON of READY and the guarantees of the launch, without what is reported elsewhere or
 * of no use later; an object. */
struct ar_str ar_boundary_text(struct ar_arena *a, struct ar_json ready, struct ar_str guarantees);

#endif
