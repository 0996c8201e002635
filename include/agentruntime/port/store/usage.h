/* What model calls used, part of the store port (store.h): sums by hour, workspace, model and currency,
 * written in the same transaction as the facts they are of. They outlive the sessions; upkeep removes old
 * hours. */
#ifndef AR_PORT_STORE_USAGE_H
#define AR_PORT_STORE_USAGE_H

#include "store.h"

#define AR_STORE_HOUR ((ar_usec)3600 * 1000000)
#define AR_STORE_USAGE_NAME 256 /* bytes of a workspace, model or currency */

enum ar_store_usage_by {
	AR_STORE_USAGE_HOUR,
	AR_STORE_USAGE_MODEL,
	AR_STORE_USAGE_WORKSPACE,
	AR_STORE_USAGE_TENANT,
	AR_STORE_USAGE_BY_COUNT
};

/* Sums of the hours in [from, to), one for each key and currency, in the order of both. The key is what `by`
 * says; of a result only that name, the currency and the sums are set. A page by hour costs what its hours
 * hold, others what the span holds. */
struct ar_store_usage {
	struct ar_store_op op;
	enum ar_store_usage_by by;
	struct ar_str tenant; /* absent = all, with AR_STORE_USAGE_TENANT alone */
	int64_t from, to; /* hours */
	struct ar_str workspace, model; /* filters; absent = any */
	bool has_after; /* strictly behind the key and the currency of `after`; else from the first */
	struct ar_store_usage_row after;
	size_t limit;
	struct ar_store_usage_row *rows;
	size_t count;
	bool more;
};

/* Where a row has its key; NULL: it is the hour. */
static inline struct ar_str *ar_store_usage_name(struct ar_store_usage_row *row, enum ar_store_usage_by by)
{
	switch (by) {
	case AR_STORE_USAGE_MODEL:
		return &row->model;
	case AR_STORE_USAGE_WORKSPACE:
		return &row->workspace;
	case AR_STORE_USAGE_TENANT:
		return &row->tenant;
	default:
		return NULL;
	}
}

#endif
