/* The ids of calls that have begun, on disk, so that none begins twice: not when it is asked for again, and
 * not by a worker that was started again. Two files of lines; when the newer one is full it takes the place
 * of the older one, so the newest half at least is always there. Loop thread only. */
#ifndef AR_EDGE_WORKER_BEGUN_H
#define AR_EDGE_WORKER_BEGUN_H

#include "list.h"
#include "status.h"
#include "str.h"

#include <uv.h>

#define AR_BEGUN_LINES 32768 /* of one file */

struct ar_begun;

/* Someone who waits until what was added is on disk. */
struct ar_begun_wait {
	struct ar_list node;
	void (*done)(struct ar_begun_wait *w, bool is_durable);
};

AR_BEGIN_DECLS

/* NULL: the folder cannot be used, or another process has it; the sentence says why. */
struct ar_begun *ar_begun_open(uv_loop_t *loop, struct ar_str dir, struct ar_error *err);

bool ar_begun_has(const struct ar_begun *b, struct ar_str ref);
size_t ar_begun_count(const struct ar_begun *b);

/* Survives the end of this process from here on. AR_E_IO: it is not added, and nothing may begin. */
AR_MUST_USE enum ar_status ar_begun_add(struct ar_begun *b, struct ar_str ref);

/* Survives the end of the machine from done() on, which comes in a later turn of the loop. */
void ar_begun_sync(struct ar_begun *b, struct ar_begun_wait *w);
bool ar_begun_is_syncing(const struct ar_begun *b);

void ar_begun_close(struct ar_begun *b); /* those that wait are told that it is not durable */

AR_END_DECLS

#endif
