/* What a run of agent-files means for its run of the port. Loop thread. */
#ifndef AR_EDGE_CHECKPOINT_OUTCOME_H
#define AR_EDGE_CHECKPOINT_OUTCOME_H

#include "arena.h"
#include "checkpoint.h"
#include "contained.h"
#include "json.h"

/* Of a process that was not stopped. Texts are in the arena or in the parser's document. */
void ar_checkpoint_outcome_read(enum ar_checkpoint_kind kind, const struct ar_contained_end *end,
				struct ar_json_parser *parser, struct ar_arena *a,
				struct ar_checkpoint_result *ret);

#endif
