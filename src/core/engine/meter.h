/* What durable facts and commits add to the metrics. A row of a table per type of fact; nothing is
 * decided here. Owner: the loop thread. */
#ifndef AR_ENGINE_METER_H
#define AR_ENGINE_METER_H

#include "metrics.h"
#include "session.h"

/* The facts of one decision are durable; `bytes` of them, `took` from hand-over to commit. */
void ar_meter_committed(struct ar_metrics *m, const struct ar_decision *d, size_t bytes, ar_usec took);

/* The store did not take a decision. */
void ar_meter_refused(struct ar_metrics *m, enum ar_status why);

/* Upkeep gave rows of the log a checksum. */
void ar_meter_sealed(struct ar_metrics *m, size_t rows);

#endif
