/* Making frames: facts as they are stored, and output frames from the bytes of a step. */
#ifndef AR_EVENTLOG_FRAME_H
#define AR_EVENTLOG_FRAME_H

#include "cursor.h"
#include "follow.h"
#include "output.h"

#define AR_DELTA_MAX 16384 /* bytes of output in one frame */

struct ar_frame *ar_frame_fact(enum ar_event_type type, uint64_t sequence, const struct ar_cursor *after,
			       struct ar_str json);

/* The frame for one piece of output, or NULL when its bytes are not to be had. `time` is the producer's. */
struct ar_frame *ar_frame_delta(const struct ar_output *o, const struct ar_output_piece *piece,
				const struct ar_cursor *after, struct ar_str runtime_id, ar_usec time);

#endif
