/* Commands to other sessions; see send_run.c. Planned with the facts that intend them, begun once these are
 * durable. Owner: the loop thread. */
#ifndef AR_ENGINE_SEND_RUN_H
#define AR_ENGINE_SEND_RUN_H

#include "engine_priv.h"

void ar_send_plan(struct ar_live *l, const struct ar_effect_send *effect);
void ar_sends_begin(struct ar_live *l);
void ar_sends_release(struct ar_live *l);
void ar_sends_drop(struct ar_live *l);

#endif
