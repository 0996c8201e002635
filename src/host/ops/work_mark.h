/* The file in which a process notes which session it works on, for the next one to read when it died:
 * agentd.working in the data folder. A mapped page outlives its process, also one that is killed; it
 * need not outlive the machine. */
#ifndef AR_HOST_OPS_WORK_MARK_H
#define AR_HOST_OPS_WORK_MARK_H

#include "engine.h"

/* Reads what the last process left in `*ret_died` and gives the memory to write to.
 * NULL: there can be none. */
struct ar_engine_mark *ar_work_mark_open(const char *data_dir, struct ar_engine_mark *ret_died);

/* The process ends in order: it died at nothing. */
void ar_work_mark_close(struct ar_engine_mark *mark);

#endif
