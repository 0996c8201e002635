/* Authentication of bearer tokens that an issuer signed, and nothing else (see port/auth.h; core/access
 * asks it). Owner: the loop thread. */
#ifndef AR_OIDC_OIDC_H
#define AR_OIDC_OIDC_H

#include "claims.h"
#include "clock.h"
#include "auth.h"

#include <uv.h>

struct ar_oidc;

/* Text is borrowed for the life of the adapter. */
struct ar_oidc_options {
	struct ar_claim_rules rules;
	const char *issuer, *keys_url, *ca_file; /* the last two may be empty */
	uint32_t refresh_s, stale_s;
	struct ar_clock *clock;
	void (*log)(void *arg, const char *line); /* why keys could not be fetched; NULL: not logged */
	void *log_arg;
};

/* AR_E_INVALID: an address that keys are not fetched from. */
AR_MUST_USE enum ar_status ar_oidc_open(uv_loop_t *loop, const struct ar_oidc_options *o,
					struct ar_oidc **ret, struct ar_error *err);

/* Nothing is asked any more; who waits is refused. The memory goes when the loop has run once more. */
void ar_oidc_close(struct ar_oidc *o);

struct ar_auth *ar_oidc_auth(struct ar_oidc *o);

#endif
