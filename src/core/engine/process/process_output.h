/* What a process writes, on its way in: masked, shown to readers as it comes, and kept for its end: the
 * beginning and the end of each stream, and of all together in the order they came. Bounded, whatever
 * it writes. Owner: the loop thread. */
#ifndef AR_ENGINE_PROCESS_OUTPUT_H
#define AR_ENGINE_PROCESS_OUTPUT_H

#include "funnel.h"

/* The first bytes of something and the last ones. */
struct ar_keeper {
	struct ar_buf head, tail;
	size_t head_max, tail_max;
	uint64_t written;
};

struct ar_kept_stream {
	struct ar_keeper kept;
	struct ar_output frames;
	struct ar_buf cut; /* the beginning of a character whose rest has not come */
	bool is_open; /* readers know of the frames */
};

struct ar_process_output {
	struct ar_follow *follow;
	struct ar_funnel funnel;
	struct ar_kept_stream streams[AR_PROC_TTY + 1]; /* by enum ar_process_stream */
	struct ar_keeper text;
	uint64_t invalid; /* bytes that are no text */
	bool has_nul;
};

/* `keep`: bytes of each stream. The ids are of its facts, texts borrowed for as long as it lives. */
void ar_process_output_init(struct ar_process_output *o, const struct ar_engine_options *e, size_t keep);

/* Readers get it from now on: those streams that it can have. */
void ar_process_output_open(struct ar_process_output *o, struct ar_str session_key, const struct ar_str *ids,
			    bool tty, uint64_t head);
void ar_process_output_close(struct ar_process_output *o); /* harmless when it is */

void ar_process_output_add(struct ar_process_output *o, enum ar_process_stream stream, struct ar_str bytes);

/* What is kept of a stream from a byte on, in one piece: it may begin later, when that is not kept. */
struct ar_str ar_process_output_from(const struct ar_process_output *o, enum ar_process_stream stream,
				     uint64_t from, uint64_t *ret_offset);

/* So many bytes of a stream were lost before they came here. */
void ar_process_output_skip(struct ar_process_output *o, enum ar_process_stream stream, uint64_t len);

/* Nothing more comes: what was held back goes out. Then what was kept, for the decision; texts are
 * the output's or the arena's. */
void ar_process_output_end(struct ar_process_output *o);
void ar_process_output_fill(struct ar_process_output *o, struct ar_arena *a, struct ar_process_over *ret);

void ar_process_output_fini(struct ar_process_output *o);

#endif
