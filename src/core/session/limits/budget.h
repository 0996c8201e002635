/* Budgets: how much a turn and a session may use of tokens, tool calls, money and time. Asked
 * before each model request and each tool call; a warning near the end, then a question to a
 * person, then the end of the turn. And the guard against a turn that only repeats itself. Pure. */
#ifndef AR_SESSION_LIMITS_BUDGET_H
#define AR_SESSION_LIMITS_BUDGET_H

#include "decide.h"

struct ar_action;

#define AR_LIMIT_BY_POLICY "policy" /* source of limit.changed */

/* What is about to be used. */
struct ar_spending {
	int64_t tokens; /* of a model request, estimated; 0: none is sent */
	int64_t calls; /* tool calls */
	int64_t cost; /* of a model request, the least that has to be left */
};

/* Before something is used. Held: what is left is too little, and a person is asked, or the turn
 * has ended. */
enum ar_hold ar_budget_claim(struct ar_decision *d, struct ar_turn *turn, struct ar_spending next);

/* Tokens that the turn may still use, by its budget and the session's; INT64_MAX: without a
 * limit, or a person is asked about one. */
int64_t ar_budget_tokens_left(struct ar_decision *d, struct ar_turn *turn);

/* Warns, once for each limit, when what was used comes near to it. */
void ar_budget_note(struct ar_decision *d, struct ar_turn *turn);

/* What a person decided about a budget that was used up. */
void ar_budget_decided(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
		       struct ar_str decision);

/* Refuses an amount of options.budget that is no amount. */
enum ar_status ar_budget_check(const struct ar_shape_turn_options *options, struct ar_error *err);

/* The time of a turn: a wake-up at its end; none when it has no limit. Begun with the turn (also
 * again after a restart), ended with it. */
void ar_budget_start_clock(struct ar_decision *d, const struct ar_turn *turn, ar_usec started);
void ar_budget_stop_clock(struct ar_decision *d, const struct ar_turn *turn);
int64_t ar_budget_ms(const struct ar_decision *d, const struct ar_turn *turn); /* the limit; 0: none */

/* Says, once per turn, that a call waits because as many run as may. */
void ar_budget_say_parallel(struct ar_decision *d, struct ar_turn *turn, int64_t running);

/* ---- amounts ---- */

int64_t ar_budget_amount(const struct ar_shape_turn_budget *b,
			 enum ar_quota quota); /* 0: it says nothing; NULL is fine */
/* Of a turn: what it and its children used or hold, and the limit; 0: there is none. */
int64_t ar_budget_used(const struct ar_decision *d, const struct ar_turn *turn, enum ar_quota quota);
int64_t ar_budget_limit(const struct ar_decision *d, const struct ar_turn *turn, enum ar_quota quota);
/* What the session has left for the turn; INT64_MAX: there is no limit. */
int64_t ar_budget_session_left(const struct ar_decision *d, const struct ar_turn *turn, enum ar_quota quota);

/* Of the policies of a session and its workspace, the lower one; 0: they set none. */
int64_t ar_budget_preset(const struct ar_session *s, enum ar_quota quota);

/* Those of a session, by the host, its workspace and its policy; 0: there is none. */
struct ar_session_limits {
	int64_t at[AR_QUOTA_COUNT];
};
struct ar_session_limits ar_budget_session_limits(const struct ar_decision *d);
/* The facts about those that are others than `before`. */
void ar_budget_say_session(struct ar_decision *d, const struct ar_session_limits *before);
/* Refuses a budget of a policy that is none, or looser than the host's or the workspace's where it must not
 * be; NULL is fine. */
enum ar_status ar_budget_check_session(const struct ar_decision *d, const struct ar_shape_session_budget *b,
				       struct ar_error *err);

/* ---- names ---- */

struct ar_quota_name {
	const char *name; /* quotaKind of facts */
	enum ar_quota quota;
	bool is_session; /* a turn cannot lower it */
};

#define AR_QUOTA_NAMES 5
extern const struct ar_quota_name ar_quota_names[AR_QUOTA_NAMES];
const struct ar_quota_name *ar_quota_find(struct ar_str name); /* NULL: unknown */

/* An amount as facts say it, a number of units, and back. Money is kept in billionths. */
double ar_quota_units(enum ar_quota quota, int64_t amount);
int64_t ar_quota_amount(enum ar_quota quota, double units);

/* ---- guard.c ---- */

/* One more call has been answered: the same as the one before it, or another. */
void ar_guard_count(struct ar_repeat *r, const struct ar_invocation *call);

/* Ends a turn that repeats itself. */
enum ar_hold ar_guard_check(struct ar_decision *d, struct ar_turn *turn);

#endif
