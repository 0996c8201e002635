/* GET /metrics: what others keep as plain counts is copied into the metrics when it is asked for, then
 * all of it is written. Counting as it happens is done where it happens (core/engine/meter.c,
 * core/control/call.c). Owner: the loop thread. */
#ifndef AR_HOST_OPS_SCRAPE_H
#define AR_HOST_OPS_SCRAPE_H

#include "buf.h"

struct ar_host;

/* Copies what others count; then r->metrics has everything. */
void ar_scrape_collect(struct ar_host *r);

void ar_scrape_write(void *runtime, struct ar_buf *out);

#endif
