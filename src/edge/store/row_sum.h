/* The sum over the columns that identify a row: the checksum of each stored value (pack.h) covers it beside
 * the value's bytes, so a row that was moved, or whose number was damaged, fails its check. The same for all
 * engines. */
#ifndef AR_EDGE_STORE_ROW_SUM_H
#define AR_EDGE_STORE_ROW_SUM_H

#include "pack.h"
#include "store_op.h"
#include "store_rows.h"

AR_BEGIN_DECLS

struct ar_row_sum ar_row_sum_of_facts(const struct ar_store_key *key, uint64_t first_seq, uint64_t last_seq);
struct ar_row_sum ar_row_sum_of_snapshot(const struct ar_store_key *key, uint64_t seq);
struct ar_row_sum ar_row_sum_of_receipt(const struct ar_store_receipt *r);
struct ar_row_sum ar_row_sum_of_task(const struct ar_store_task_row *row);
struct ar_row_sum ar_row_sum_of_action(const struct ar_store_action_row *row);
struct ar_row_sum ar_row_sum_of_item(const struct ar_store_key *key, const struct ar_store_item_row *row);

AR_END_DECLS

#endif
