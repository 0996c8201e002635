/* How the codec says no: status AR_E_INVALID, code invalid_input, and a sentence. Private to src/catalog. */
#ifndef AR_CATALOG_INVALID_H
#define AR_CATALOG_INVALID_H

#include "catalog.h"
#include "status.h"

#define INVALID(err, ...) ((void)ar_fail((err), AR_E_INVALID, __VA_ARGS__), mark_invalid(err))

static inline enum ar_status mark_invalid(struct ar_error *err)
{
	if (err)
		err->code = AR_ERR_INVALID_INPUT;
	return AR_E_INVALID;
}

#endif
