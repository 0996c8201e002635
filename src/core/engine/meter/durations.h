/* Metrics whose value needs more than the fact: when something began, or what failed before. Owner: the loop
 * thread. */
#ifndef AR_ENGINE_METER_DURATIONS_H
#define AR_ENGINE_METER_DURATIONS_H

#include "metrics.h"
#include "session.h"

/* The fact is durable, and the session has it. */
void ar_meter_durations(struct ar_metrics *m, const struct ar_session *s, const struct ar_event *e);

#endif
