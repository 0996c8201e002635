/* What no plan may be. Asked before a plan is written and after one was read, so that neither side has to
 * trust the other. */
#ifndef AR_LAUNCH_PLAN_CHECK_H
#define AR_LAUNCH_PLAN_CHECK_H

#include "plan.h"

#define AR_PLAN_FILTER_MAX 4096 /* instructions, as the kernel takes them */
#define AR_PLAN_FILTER_DIGITS 16 /* hex digits of one instruction */

/* NULL: nothing is wrong; otherwise what, for people. */
const char *ar_plan_wrong(const struct ar_plan *p);

#endif
