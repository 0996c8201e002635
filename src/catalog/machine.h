/* The state machines of the catalogue. Transitions are keyed by event type alone, so a log explains every
 * state and an illegal log is noticed on load. Constant tables only: any thread may ask. */
#ifndef AR_CATALOG_MACHINE_H
#define AR_CATALOG_MACHINE_H

#include "catalog.h"

AR_BEGIN_DECLS

/* The state after the event; false (and *ret_next untouched) when the machine does not allow it there. State
 * 0 is the one before the first event. */
bool ar_machine_next(enum ar_machine m, int state, enum ar_event_type event, int *ret_next);

/* Whether nothing but archiving or re-opening follows the state. */
bool ar_machine_is_final(enum ar_machine m, int state);

/* "running"; "none" for 0, NULL out of range. */
const char *ar_machine_state_name(enum ar_machine m, int state);

AR_END_DECLS

#endif
