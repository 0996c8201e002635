/* The key that signs evidence: evidence.key in the data folder, made at the first start and never changed by
 * us; evidence.pem beside it is its public half, for those who check packs, written by the first export.
 * Nodes of a cluster sign alike when their folders have the same file. */
#ifndef AR_HOST_OPS_EVIDENCE_KEY_H
#define AR_HOST_OPS_EVIDENCE_KEY_H

#include "crypto/sign.h"
#include "status.h"

struct ar_evidence_key {
	const char *data_dir; /* borrowed */
	uint8_t seed[AR_SIGN_SEED];
	struct ar_sign_key key;
	bool is_made; /* the key is there; until then a daemon that exports nothing loads no tables for it */
};

AR_MUST_USE enum ar_status ar_evidence_key_open(const char *data_dir, struct ar_evidence_key *ret,
						struct ar_error *err);

/* For the engine; arg is the ar_evidence_key. */
const struct ar_sign_key *ar_evidence_key_use(void *arg);

#endif
