/* Where an issuer's keys come from: fetched, kept, fetched again. One request at a time. Owner: the loop
 * thread. */
#ifndef AR_OIDC_KEY_SOURCE_H
#define AR_OIDC_KEY_SOURCE_H

#include "buf.h"
#include "jwk.h"
#include "transfer.h"

#include <uv.h>

struct ar_key_source_options {
	const char *issuer;
	const char *keys_url; /* empty: the issuer's discovery document says it */
	const char *ca_file; /* empty: the system's certificates */
	uint32_t refresh_s, stale_s;
};

struct ar_key_source {
	struct ar_jwks keys;
	struct ar_key_source_options o;
	struct ar_json_parser *json;
	struct ar_transfer_pool *pool;
	struct ar_transfer transfer;
	struct ar_buf body;
	uv_timer_t timer;
	char *discovery_url; /* owned */
	char *found_url; /* what discovery said; owned */
	uint64_t fetched; /* ms of the loop: when the keys were current; with `keys.count` */
	uint64_t asked; /* when the last fetch began */
	bool has_asked;
	bool is_fetching, is_discovering;
	bool is_closing;
	void (*on_fetched)(struct ar_key_source *s); /* a fetch has ended, well or not */
	void (*on_closed)(struct ar_key_source *s);
	char why[160]; /* the last one failed, and how; empty: it went well */
};

/* Begins to fetch at once. AR_E_INVALID: an address that is not https, or http of this machine. */
AR_MUST_USE enum ar_status ar_key_source_open(struct ar_key_source *s, uv_loop_t *loop,
					      const struct ar_key_source_options *o, struct ar_error *err);
void ar_key_source_close(struct ar_key_source *s); /* on_closed() when the memory may go */

/* Whether the keys may be gone by: there are some, and they are not too old. */
bool ar_key_source_is_good(const struct ar_key_source *s);

/* A key was missing: fetches unless that was done a moment ago. True: a fetch is under way, on_fetched() will
 * tell. */
bool ar_key_source_refetch(struct ar_key_source *s);

#endif
