/* Authentication for one node: the auth port over the tokens, and their administration.
 * Owner: the loop thread. */
#ifndef AR_ACCESS_ACCESS_H
#define AR_ACCESS_ACCESS_H

#include "clock.h"
#include "auth.h"
#include "gauge.h"
#include "refusals.h"
#include "store.h"
#include "token.h"

/* Who shows the certificate of that subject, and is not known otherwise. Text is borrowed. */
struct ar_access_certificate {
	struct ar_str subject, tenant;
	unsigned rights;
};

struct ar_access_options {
	struct ar_store *store;
	struct ar_clock *clock;
	bool is_shared; /* other nodes write to the store */
	bool is_required; /* who comes over TCP shows something, also from this machine */
	bool is_group_in; /* over the unix socket users of the server's own group are the operator, too */
	/* every user who can open the unix socket is the operator, not only the server's own and root */
	bool is_socket_open;
	unsigned uid; /* the server's own */
	ar_usec jwt_token_age; /* most age of a token that a JWT makes; 0: it ends with the JWT */
	ar_usec keep; /* that a token is kept after its end; 0: for ever */
	struct ar_access_limit token_limit, tenant_limit;
	const struct ar_access_certificate *certificates;
	size_t certificate_count;
	struct ar_auth *bearers; /* asked about bearers that are not tokens of ours; NULL: there are none */
	ar_audit_fn *audit; /* records refusals and administrative acts; NULL: not recorded */
	void *audit_arg;
};

struct ar_access;

/* Options are copied, what they point to is borrowed. */
struct ar_access *ar_access_new(const struct ar_access_options *o);

/* After the store is closed: nothing is under way any more. */
void ar_access_free(struct ar_access *a);

struct ar_auth *ar_access_auth(struct ar_access *a);

/* Whether tokens are known: before that, a caller with a token has to retry. */
bool ar_access_is_ready(const struct ar_access *a);

ar_usec ar_access_now(const struct ar_access *a); /* wall clock, as tokens count it */

/* When to call tick() next (monotonic). */
ar_usec ar_access_deadline(const struct ar_access *a);
void ar_access_tick(struct ar_access *a);

/* ---- administration (the right to is the caller's to judge) ---- */

/* ENROL: the enrolment token that `who` showed becomes the token of its worker, with a secret of its own. */
enum ar_token_act { AR_TOKEN_CREATE = 1, AR_TOKEN_ROTATE, AR_TOKEN_REVOKE, AR_TOKEN_ENROL };

/* One act. The caller owns it (zeroed), fills the first part, and keeps it until done(). */
struct ar_token_change {
	enum ar_token_act act;
	const struct ar_principal *who; /* NULL: the operator */
	struct ar_str id; /* rotate, revoke: "tok_..." */
	/* create: the token is the enrolment token of this worker, which has one token; revoke: that token,
	 * whether there is one or not (`id` is not looked at); absent: not a worker's */
	struct ar_str worker;
	/* create: whose; absent: the caller's own. Another is the operator's to name. */
	struct ar_str tenant;
	struct ar_str name; /* create */
	/* create: name of the person whose it is; absent: the caller. The operator's to name. */
	struct ar_str owner;
	unsigned rights; /* create */
	ar_usec expires; /* create: wall clock; 0: never */
	ar_usec grace; /* rotate: how long secrets from before still work */
	struct ar_str key; /* create: makes a repeat safe; absent: none */
	const struct ar_call_origin *from; /* for the audit trail; NULL: not known */
	void (*done)(struct ar_token_change *c); /* exactly once; may come before the call returns */

	enum ar_status status; /* result; AR_E_REFUSED with a code */
	struct ar_error err;
	const struct ar_token *token; /* result: as it is now, valid during done() */
	bool is_repeat; /* result: nothing was changed; created and revoked are as they were */
	char text
		/* result of create and rotate: the whole token, to be shown once and
		 * wiped; empty: a repeat */
		[AR_TOKEN_TEXT + 1];

	struct ar_list node; /* private from here on */
	struct ar_access *access;
	struct ar_hash input;
	unsigned tries;
};

void ar_access_change(struct ar_access *a, struct ar_token_change *c);

/* The caller's tokens in the order of their ids, from the one behind `after` (absent: the first); those
 * of all tenants for the operator, unless one is named. Valid until control returns to the loop.
 * Returns how many were put into `ret`. */
struct ar_token_query {
	const struct ar_principal *who;
	struct ar_str tenant; /* operator: only of this one */
	struct ar_str after;
	bool with_dead; /* revoked and expired ones, too */
};

size_t ar_access_list(const struct ar_access *a, const struct ar_token_query *q, const struct ar_token **ret,
		      size_t limit);

#endif
