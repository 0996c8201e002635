/* How deep a value nests. See json_depth.h. Pure: any thread may call it. */
#include "text/json_depth.h"

/* A document has at most 64 levels, and so has this. */
bool ar_json_is_deeper(struct ar_json v, unsigned levels)
{
	struct ar_json_iter it;

	if (ar_json_type(v) != AR_JSON_ARRAY && ar_json_type(v) != AR_JSON_OBJECT)
		return false;
	if (levels == 0)
		return true;
	for (it = ar_json_iter(v); ar_json_next(&it);) {
		if (ar_json_is_deeper(it.value, levels - 1))
			return true;
	}
	return false;
}
