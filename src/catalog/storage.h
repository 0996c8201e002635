/* What a store's failure is called towards callers: weather may be repeated, damage may not, and an outcome
 * that nobody knows is said to be so. */
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
