/* Making frames: facts as they are stored, and output frames from the bytes of a step. */
#ifndef AR_EVENTLOG_FRAME_H
#define AR_EVENTLOG_FRAME_H

#include "codec.h"
#include "cursor.h"
#include "follow.h"
#include "output.h"
#include "places.h"

#define AR_DELTA_MAX 16384 /* bytes of output in one frame */

struct ar_frame *ar_frame_fact(enum ar_event_type type, uint64_t sequence, const struct ar_cursor *after,
			       struct ar_str json);

/* The same frame for a reader that is elsewhere after it. */
struct ar_frame *ar_frame_moved(const struct ar_frame *f, const struct ar_cursor *after);

/* A fact in the feed of a tenant, for a reader that is there after it. Of `f` type, sequence,
 * place and JSON are looked at. */
struct ar_frame *ar_frame_placed(const struct ar_frame *f, const struct ar_places *after);

/* A frame of an event that is no fact. */
struct ar_frame *ar_frame_event(const struct ar_event *e, const struct ar_cursor *after);

/* The frame for one piece of output, or NULL when its bytes are not to be had; a stream's then says
 * only where they would be. `time` is the producer's. */
struct ar_frame *ar_frame_delta(const struct ar_output *o, const struct ar_output_piece *piece,
				const struct ar_cursor *after, struct ar_str runtime_id, ar_usec time);

#endif
