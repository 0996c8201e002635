/* What the configuration says about permission, as the session core reads it. */
#ifndef AR_HOST_PERMISSION_H
#define AR_HOST_PERMISSION_H

#include "config.h"
#include "session.h"

/* Fills the permission members of the policy; text and rules are in the arena. */
void ar_permission_configure(const struct ar_config *c, struct ar_arena *a, struct ar_policy *policy);

struct ar_control;
struct ar_redactor;

/* Records in the home session the policy that the runtime has from now on. */
void ar_permission_record(const struct ar_config *c, const struct ar_redactor *redactor,
			  struct ar_control *to);

#endif
