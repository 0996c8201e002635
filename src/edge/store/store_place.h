/* Where the values of a store stand: what the seal of each (pack.h) is over beside its bytes. The columns of a row that say what it is are
 * in it, so a row that was moved, or whose number was hit, does not fit its seal. The same for all engines. */
#ifndef AR_EDGE_STORE_PLACE_H
#define AR_EDGE_STORE_PLACE_H

#include "pack.h"
#include "store_op.h"
#include "store_rows.h"

AR_BEGIN_DECLS

struct ar_place_sum ar_place_of_facts(const struct ar_store_key *key, uint64_t first_seq, uint64_t last_seq);
struct ar_place_sum ar_place_of_snapshot(const struct ar_store_key *key, uint64_t seq);
struct ar_place_sum ar_place_of_receipt(const struct ar_store_receipt *r);
struct ar_place_sum ar_place_of_task(const struct ar_store_task_row *row);
struct ar_place_sum ar_place_of_action(const struct ar_store_action_row *row);

AR_END_DECLS

#endif
