/* How much space the files of a workspace take, counted by walking through them: names of every kind, .git
 * and what checkpoints leave out included; no link is followed. */
#ifndef AR_FILES_CHECKPOINT_MEASURE_H
#define AR_FILES_CHECKPOINT_MEASURE_H

#include "work.h"

struct ar_measured {
	int64_t bytes; /* of blocks on the disk; a file with several names counts in parts, one for each */
	bool is_partial; /* too many names, too deep, out of time, or a folder that cannot be read */
};

/* Takes at most half of the time that the call has left. */
struct ar_measured ar_measure(const struct ar_files_work *w, int root);

#endif
