/* See the header. */
#include "storage.h"

#include "catalog.h"

uint16_t ar_storage_code(enum ar_status status)
{
	if (status == AR_E_CORRUPT)
		return AR_ERR_STORAGE_CORRUPT;
	return status == AR_E_DOUBT ? AR_ERR_OUTCOME_UNKNOWN : AR_ERR_STORAGE_UNAVAILABLE;
}

enum ar_status ar_storage_refuse(struct ar_error *err, enum ar_status status, const char *why,
				 struct ar_str session)
{
	if (status != AR_E_CORRUPT || ar_str_absent(session))
		return ar_refuse(err, ar_storage_code(status), "%s", why);
	return ar_refuse(err, AR_ERR_STORAGE_CORRUPT, "%.150s; run `agentctl verify sess_%.*s`", why,
			 AR_STR_ARG(session));
}
