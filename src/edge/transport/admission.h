/* An authenticated caller, for as long as its request, stream or connection lasts: its principal, what
 * it counts for in the limits, and whether its credentials are still good. Owner: the loop thread. */
#ifndef AR_TRANSPORT_ADMISSION_H
#define AR_TRANSPORT_ADMISSION_H

#include "auth.h"
#include "list.h"

struct ar_http_server;

/* The operator needs none. */
struct ar_http_admission {
	struct ar_principal who; /* its text is behind this struct */
	struct ar_http_server *server;
	struct ar_list node; /* in server->admissions while it is watched */
	void (*expired)(
		struct ar_http_admission *a); /* the credentials ended: end what is open. May free it. */
	void *owner;
	enum ar_auth_slot slot;
	bool is_acquired; /* and not released yet */
};

/* NULL for the operator, who is never limited or shut out. */
struct ar_http_admission *ar_http_admission_new(struct ar_http_server *s, const struct ar_principal *who);
void ar_http_admission_free(struct ar_http_admission *a); /* releases first; NULL is fine */

/* A command or stream begins and ends; NULL is fine. */
AR_MUST_USE enum ar_status ar_http_admission_acquire(struct ar_http_admission *a, enum ar_auth_slot slot,
						     uint32_t *ret_retry_ms, struct ar_error *err);
void ar_http_admission_release(struct ar_http_admission *a);

/* From now on its credentials are checked every second, until it is released or freed. */
void ar_http_admission_watch(struct ar_http_admission *a, void (*expired)(struct ar_http_admission *a),
			     void *owner);
void ar_http_admissions_check(struct ar_http_server *s);

#endif
