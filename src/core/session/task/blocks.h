/* Which declared task has an id, and which edges keep which task from running: an index over
 * `declared` and the edges of its tasks, so that a change costs the edges of the task that changed
 * and not those of the session. Kept by apply_task.c and made anew from a snapshot; never stored. */
#ifndef AR_SESSION_TASK_BLOCKS_H
#define AR_SESSION_TASK_BLOCKS_H

#include "session.h"

/* An edge of kind blocks or blocked_by. A task that is not in memory is NULL; its id is in the edge. */
struct ar_block {
	struct ar_task *from; /* whose edge it is */
	const struct ar_edge *edge;
	struct ar_task *held, *blocker;
};

/* The ids of the task that an edge keeps from running and of the one that does; false: neither. */
bool ar_block_ends(const struct ar_task *from, const struct ar_edge *edge, struct ar_str *ret_held,
		   struct ar_str *ret_blocker);

/* Whether it keeps a task from running now. */
bool ar_block_is_open(const struct ar_block *b);

struct ar_block *ar_block_at(const struct ar_vec *blocks, size_t i);

/* A task that has ended and keeps one from running that has not: it stays in memory, since without
 * it nothing would. */
bool ar_task_holds_another(const struct ar_task *task);

/* ---- keeping it ---- */

void ar_blocks_add_task(struct ar_session *s, struct ar_task *task);
void ar_blocks_drop_task(struct ar_session *s, struct ar_task *task);
void ar_blocks_add_edge(struct ar_session *s, struct ar_task *from, const struct ar_edge *edge);
void ar_blocks_drop_edge(struct ar_task *from, const struct ar_edge *edge);
void ar_blocks_restore(struct ar_session *s); /* after a snapshot was read */

#endif
