/* Where checkpoints go. Writing waits for the disk, so a worker thread does it. */
#ifndef AR_HOST_CHECKPOINT_SINK_H
#define AR_HOST_CHECKPOINT_SINK_H

#include "buf.h"

#include <uv.h>

struct ar_checkpoint_sink {
	const char *file, *socket; /* borrowed; empty: none */
	/* Of the worker while it writes, else of the loop. */
	struct ar_buf lines; /* for the file */
	struct ar_buf messages; /* for the system log: lines without their line end, a NUL after each */
	char why[200]; /* the last failure; empty: none */
	uv_work_t work;
	void (*done)(struct ar_checkpoint_sink *s);
};

/* Lines that could not be written stay for the next time; messages do not. */
void ar_checkpoint_sink_write(struct ar_checkpoint_sink *s, uv_loop_t *loop);
void ar_checkpoint_sink_fini(struct ar_checkpoint_sink *s);

#endif
