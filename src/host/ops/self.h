/* What the kernel knows of this process, for its metrics. Any thread. */
#ifndef AR_HOST_OPS_SELF_H
#define AR_HOST_OPS_SELF_H

#include "metric.h"

/* Memory, processor time, threads, descriptors and start of this process; what /proc does
 * not say is left as it was. */
void ar_self_measure(struct ar_metrics *m);

#endif
