/* Who comes in, as the configuration says it: the auth port of core/access, with the issuer of signed
 * tokens behind it where one is set. Owner: the loop thread. */
#ifndef AR_HOST_ACCESS_H
#define AR_HOST_ACCESS_H

#include "access.h"
#include "config.h"
#include "control.h"
#include "log.h"

#include <uv.h>

struct ar_host_access {
	/* set before it is opened: where refusals and administration become facts */
	struct ar_control *control;
	const struct ar_log *log; /* set before it is opened */
	struct ar_access *access;
	struct ar_oidc *oidc; /* NULL: no issuer is set */
	struct ar_access_certificate *certificates;
};

AR_MUST_USE enum ar_status ar_host_access_open(uv_loop_t *loop, const struct ar_config *c,
					       struct ar_store *store, bool is_shared,
					       struct ar_host_access *ret, struct ar_error *err);

/* What runs on the loop ends; the loop has to run once more. */
void ar_host_access_close(struct ar_host_access *h);

/* When the store is closed. Harmless when it was not opened. */
void ar_host_access_free(struct ar_host_access *h);

#endif
