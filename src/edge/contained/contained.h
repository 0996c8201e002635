/* One short program of ours behind a boundary: started through agent-init without a supervisor, because
 * nothing of it outlives the call. Its input is given at the start, its output kept up to a cap, and it dies
 * with this process.
 *
 * Contract: loop thread only. done() comes exactly once and never before start returns, also after stop();
 * the memory goes later, when the loop has seen the end of the process. */
#ifndef AR_EDGE_CONTAINED_CONTAINED_H
#define AR_EDGE_CONTAINED_CONTAINED_H

#include "boundary.h"

#include <uv.h>

enum ar_contained_outcome {
	AR_CONTAINED_EXITED = 1,
	AR_CONTAINED_NOT_STARTED, /* certainly nothing of it ran */
	AR_CONTAINED_LOST, /* it is gone, and how far it came is not known */
	AR_CONTAINED_STOPPED, /* by stop() */
};

struct ar_contained_end {
	enum ar_contained_outcome outcome;
	bool is_unavailable; /* NOT_STARTED: the profile is not to be had here */
	int exit_code; /* EXITED; 128 and more: by a signal */
	struct ar_str output; /* what it wrote to standard output */
	bool is_cut; /* more than the cap came */
	struct ar_str stderr_text; /* the beginning of what it wrote to standard error */
	struct ar_str message; /* NOT_STARTED: why */
	/* the boundary as the kernel confirmed it; NULL: it never stood */
	const struct ar_process_ready *ready;
	const struct ar_str *violations; /* JSON objects, as of AR_PROC_VIOLATION */
	size_t violation_count;
};

struct ar_contained_spec {
	const char *program; /* name of a program of ours, which lies beside agent-init */
	struct ar_str input;
	struct ar_str session_id, call_id, workspace;
	enum ar_sandbox_profile profile;
	/* With workspace_write: a folder that is written, instead of those of the settings; absent: none */
	struct ar_str store;
	struct ar_str second; /* with `store`: one more such folder, of the same owner; absent: none */
	bool reads_workspace; /* with `store`: the workspace itself is not written */
	size_t output_max;
	void (*done)(void *arg,
		     const struct ar_contained_end *end); /* what it brings lives until it returns */
	void *arg;
};

struct ar_contained;

AR_BEGIN_DECLS

struct ar_contained *ar_contained_start(uv_loop_t *loop, struct ar_sandbox *s,
					const struct ar_contained_spec *spec);

/* Kills it with all it started; done() follows from the loop. Not after done(). */
void ar_contained_stop(struct ar_contained *c);

/* Nobody wants its end any more: kills it, done() is not called. Not after done(). */
void ar_contained_drop(struct ar_contained *c);

AR_END_DECLS

#endif
