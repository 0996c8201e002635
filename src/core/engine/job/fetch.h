/* What decisions about jobs need from the store: read while the session waits, so that nothing changes
 * between the reading and the decision. Owner: the loop thread. */
#ifndef AR_ENGINE_JOB_FETCH_H
#define AR_ENGINE_JOB_FETCH_H

#include "engine_priv.h"

/* True: something is read first; the input is decided afterwards (ar_live_decide). */
bool ar_fetch_hold(struct ar_live *l, struct ar_engine_request *r);

#endif
