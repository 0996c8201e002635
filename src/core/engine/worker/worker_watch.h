/* Sessions and the workers that have their workspaces; see watch.c. Owner: the loop thread. */
#ifndef AR_ENGINE_WORKER_WATCH_H
#define AR_ENGINE_WORKER_WATCH_H

#include "engine_priv.h"

void ar_worker_watch_init(struct ar_engine *e);
void ar_worker_watch_fini(struct ar_engine *e);
void ar_worker_watch_moved(struct ar_engine *e); /* a partition is another node's now */

/* The state of the session is settled: whether it is to hear of its worker, which it does also when it has
 * left memory meanwhile; and what it is the log of, if that is a worker. */
void ar_worker_watch(struct ar_live *l);

/* Who gets the next call of the session: its worker, or the one of its pool that takes calls and has the
 * fewest. Of a pool without such a worker: the name of the pool, which reaches nobody. Absent: this machine.
 * The text lives until the loop turns. */
struct ar_str ar_worker_for(struct ar_engine *e, const struct ar_session *s);

#endif
