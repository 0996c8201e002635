/* Model choice, cost and limits inside the read models; private to projection/. */
#ifndef AR_PROJECTION_ROUTING_H
#define AR_PROJECTION_ROUTING_H

#include "projection.h"

/* The turn whose route was decided last, among those of one thread or (absent) all; NULL
 * when there is none. */
const struct ar_turn *ar_projection_routed_turn(const struct ar_session *s, struct ar_str thread);

/* Members of an open object: the routing facts of a turn and what it cost. */
void ar_projection_turn_routing(const struct ar_session *s, const struct ar_turn *turn, struct ar_jw *w);

/* modelRouting, limitState and costState of a thread. */
void ar_projection_thread_routing(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w);

/* routingLimitSummary: the newest route, with what the whole session cost. */
void ar_projection_routing_summary(const struct ar_session *s, struct ar_str thread, struct ar_jw *w);

#endif
