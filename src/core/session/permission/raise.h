/* One act while it is judged, and what the sandbox and the danger scan add. For this folder alone. */
#ifndef AR_PERMISSION_RAISE_H
#define AR_PERMISSION_RAISE_H

#include "permission/permission.h"

struct ar_evaluation {
	struct ar_decision *d;
	const struct ar_turn *turn;
	const struct ar_act *act;
	enum ar_permission_mode modes[4]; /* host's, session's, turn's, workspace's: all of them hold */
	size_t mode_count;
	enum ar_permission_mode strictest;
	struct ar_settled_profile profile;
};

bool ar_evaluation_is_in_mode(const struct ar_evaluation *b, enum ar_permission_mode mode);

/* What the classifier of mode auto makes of it. */
struct ar_class {
	enum ar_verdict verdict;
	const char *name; /* facts have it as ruleRef, after AR_CLASSIFIER */
	const char *reason;
};
#define AR_CLASSIFIER "classifier:rules/1:"
const struct ar_class *ar_permission_classify(const struct ar_evaluation *b);

/* Never makes it looser. */
void ar_permission_raise(const struct ar_evaluation *b, struct ar_judgement *j);

/* Constraints of the task that the turn executes, where one of them decided, join the ruleRefs. */
void ar_permission_cite(const struct ar_evaluation *b, struct ar_judgement *j);

#endif
