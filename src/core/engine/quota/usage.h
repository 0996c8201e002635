/* What each tenant uses of its quotas, for decisions to compare with (session/quota/quota.h).
 *
 * Turns and processes are those of the sessions in memory: a session that has one is. Tokens and money of
 * the day are in the index row of each session, written in the same transaction as the fact that counts
 * them; they are added up once, when a session of the tenant is first decided about, and kept up with each
 * commit.
 * Meanwhile the sessions of that tenant wait, so that nothing is counted twice or not at all. Nodes of a
 * cluster add up again from time to time, because the others count as well.
 *
 * Nothing is kept for tenants without quotas. Owner: the loop thread. */
#ifndef AR_ENGINE_QUOTA_USAGE_H
#define AR_ENGINE_QUOTA_USAGE_H

#include "engine_priv.h"

/* Whether the session waits: its next input may need to know what cannot be known yet. It is pumped again. */
bool ar_usage_hold(struct ar_live *l);

/* For the input that is decided next. */
void ar_usage_fill(struct ar_live *l, struct ar_input *in);

/* The state was read from the store, or begins. */
void ar_usage_loaded(struct ar_live *l);

/* The state has changed: what is at work counts from now on, not only when it is durable. */
void ar_usage_changed(struct ar_live *l);

/* A commit of the session begins; and ends, durable or not. */
void ar_usage_commit_began(struct ar_live *l);
void ar_usage_commit_ended(struct ar_live *l, bool is_durable);

/* The session leaves memory. */
void ar_usage_dropped(struct ar_live *l);

/* Sessions with open work have been found, or could not be. */
void ar_usage_recovered(struct ar_engine *e);

/* The engine stops: inputs that wait are refused, who asks gets what is known. */
void ar_usage_stop(struct ar_engine *e);

void ar_usage_fini(struct ar_engine *e);

#endif
