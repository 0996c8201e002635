/* How events are printed. */
#ifndef AR_CTL_EVENTS_H
#define AR_CTL_EVENTS_H

#include "api.h"

/* One line. A frame has a + behind the sequence, which is that of the newest fact. */
void ar_event_print(struct ar_out *o, struct ar_json event, bool is_frame, bool names_session);

#endif
