/* Money of a model request, set aside before it is sent: the most that it can cost counts as used until its
 * cost is known. So what is recorded never exceeds a limit, whatever runs at the same time and whenever the
 * process dies. Only where money is limited and the price of the model is known. Pure. */
#ifndef AR_SESSION_LIMITS_RESERVE_H
#define AR_SESSION_LIMITS_RESERVE_H

#include "decide.h"

struct ar_reservation {
	int64_t input; /* most tokens that the request has */
	/* Most tokens of the answer: those that are wanted, absent if nobody said; and then those to ask
	 * for, as they were if money is not limited. */
	struct ar_opt_int output;
	int64_t amount; /* to set aside; 0: nothing is */
};

bool ar_money_is_limited(const struct ar_decision *d, const struct ar_turn *turn);

/* Held: another request under way has to end first, or what is left is too little and a person is asked, or
 * the turn has ended. */
enum ar_hold ar_money_reserve(struct ar_decision *d, struct ar_turn *turn, const struct ar_model_entry *entry,
			      struct ar_reservation *r);

#endif
