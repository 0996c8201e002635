/* Enrolment: shows the token that create_worker gave, once, and gets the worker's own. Loop thread. */
#ifndef AR_HOST_WORKER_ENROL_H
#define AR_HOST_WORKER_ENROL_H

#include "arena.h"
#include "status.h"
#include "worker/identity.h"

#include <uv.h>

struct ar_worker_enrol_options {
	const char *url; /* of the daemon; https, or http to this machine */
	const char *ca_file; /* NULL: those of the system; outlives the enrolment */
	struct ar_str token; /* of create_worker */
	struct ar_str labels; /* JSON object; absent: none */
	struct ar_str info; /* JSON object: what the machine is */
	/* Once, never before the start returned. AR_OK: `who` is the worker's. AR_E_UNAVAILABLE: no answer,
	 * and the token is as good as before, as far as is known; AR_E_REFUSED: it is not accepted. Texts
	 * live until it returns. */
	void (*done)(void *arg, const struct ar_worker_identity *who, const struct ar_error *err);
	void *arg;
};

struct ar_worker_enrolment;

/* AR_E_INVALID: the address cannot be used. */
AR_MUST_USE enum ar_status ar_worker_enrol(uv_loop_t *loop, const struct ar_worker_enrol_options *o,
					   struct ar_worker_enrolment **ret, struct ar_error *err);

/* Before done(), which does not come then. */
void ar_worker_enrol_cancel(struct ar_worker_enrolment *e);

#endif
