/* Wakes the logs of schedules at their due times; see due.c. */
#ifndef AR_ENGINE_SCHEDULE_DUE_H
#define AR_ENGINE_SCHEDULE_DUE_H

#include "engine_priv.h"

/* Looks for what is due now, and from now on whenever something is. */
void ar_due_scan(struct ar_engine *e);

/* A row with this due time was written here; 0: it has none. */
void ar_due_notice(struct ar_engine *e, ar_usec due);

void ar_due_fini(struct ar_engine *e);

/* The zone that a decision of the session may need. */
void ar_due_fill_zone(struct ar_live *l, struct ar_input *in);

#endif
