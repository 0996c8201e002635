/* The error code that callers get for a failure of the store: an outage may be retried, damage may not, and
 * an unknown outcome has a code of its own. */
#ifndef AR_CATALOG_STORAGE_H
#define AR_CATALOG_STORAGE_H

#include "status.h"
#include "str.h"

AR_BEGIN_DECLS

/* storage_unavailable, storage_corrupt or outcome_unknown. */
uint16_t ar_storage_code(enum ar_status status);

/* Refuses with it. Damage names the session, if one is given by its 26 characters, and what to run. Returns
 * AR_E_REFUSED. `why` may be err's own sentence. */
enum ar_status ar_storage_refuse(struct ar_error *err, enum ar_status status, const char *why,
				 struct ar_str session);

AR_END_DECLS

#endif
