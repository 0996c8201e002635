/* Budgets that came near their end or stopped work; private to projection/. */
#ifndef AR_PROJECTION_QUOTAS_H
#define AR_PROJECTION_QUOTAS_H

#include "projection.h"

/* The gravest word about them: quota_blocked, quota_low, or absent. `turn` is one that runs, or NULL. */
struct ar_str ar_projection_quota_word(const struct ar_session *s, const struct ar_turn *turn);

/* The member `quotas`: each with its kind, its state and the limit in force; nothing
 * when nothing was said of any. */
void ar_projection_quotas(const struct ar_session *s, const struct ar_turn *turn, struct ar_jw *w);

#endif
