/* A workspace or a schedule that is being created by a tenant with a quota of them; see creating.c. */
#ifndef AR_CONTROL_QUOTA_CREATING_H
#define AR_CONTROL_QUOTA_CREATING_H

#include "control_priv.h"

/* What is created, and counted. */
enum ar_creating_kind { AR_CREATING_WORKSPACE, AR_CREATING_SCHEDULE };

struct ar_creating {
	struct ar_list node; /* in those of the control; the first of its tenant is at work */
	struct ar_call *call;
	enum ar_creating_kind kind;
	struct ar_str key; /* of its log */
	int64_t most, used; /* of them; counted so far */
	ar_query_fn *go_on;
};

/* Goes on when the tenant may have what the call creates, under this key; otherwise the call is refused. */
void ar_creating_check(struct ar_call *c, enum ar_creating_kind kind, struct ar_str key, ar_query_fn *go_on);

/* The call is about to be answered: the next of its tenant begins. */
void ar_creating_over(struct ar_call *c);

/* A page of the active workspaces of the caller's tenant, from the first. */
struct ar_store_sessions ar_workspaces_of(const struct ar_call *c, ar_store_done_fn *done);

#endif
