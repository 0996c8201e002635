/* Waits for the next fact of a session (engine.h), as the engine ends them. */
#ifndef AR_ENGINE_REQUEST_WATCH_H
#define AR_ENGINE_REQUEST_WATCH_H

#include "engine.h"

/* Those of the session, or (absent) all of them, are over. */
void ar_watches_wake(struct ar_engine *e, struct ar_str session_key, enum ar_engine_woken why);

#endif
