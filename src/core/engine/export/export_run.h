/* An export on its way: the log is read by pages, beside the session, which works on; the parts of its files
 * are stored as they get full; then the command is decided with what it came to. Nothing is changed before
 * that, so an export that a crash or a stop ends is as if it had not been asked for. */
#ifndef AR_ENGINE_EXPORT_RUN_H
#define AR_ENGINE_EXPORT_RUN_H

#include "engine_priv.h"

#define AR_EXPORTS_MAX 4 /* at once; more are refused as overloaded */

/* Whether the request is an export that is to be made first: it comes back into the inbox. */
bool ar_export_hold(struct ar_live *l, struct ar_engine_request *r);

#endif
