/* The key that signs evidence: evidence.key in the data folder, made at the first start and never changed by
 * us; evidence.pem beside it is its public half, for those who check packs. Nodes of a cluster sign alike
 * when their folders have the same file. */
#ifndef AR_HOST_OPS_EVIDENCE_KEY_H
#define AR_HOST_OPS_EVIDENCE_KEY_H

#include "crypto/sign.h"
#include "status.h"

AR_MUST_USE enum ar_status ar_evidence_key_open(const char *data_dir, struct ar_sign_key *ret,
						struct ar_error *err);

#endif
