/* What the sandbox and the danger scan add to a judgement. For this folder alone. */
#ifndef AR_PERMISSION_RAISE_H
#define AR_PERMISSION_RAISE_H

#include "permission/permission.h"

struct ar_raise {
	struct ar_decision *d;
	const struct ar_turn *turn;
	const struct ar_act *act;
	const struct ar_settled_profile *profile;
	bool is_bypass; /* permission is skipped on purpose: danger is only told */
	bool is_on_failure; /* more may be asked for only after a run inside failed */
};

/* Never makes it looser. */
void ar_permission_raise(const struct ar_raise *r, struct ar_judgement *j);

#endif
