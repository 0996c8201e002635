/* RSA keys that others can compute signatures for, whatever their length. Pure. */
#ifndef AR_OIDC_WEAK_RSA_H
#define AR_OIDC_WEAK_RSA_H

#include <openssl/bn.h>
#include <stdbool.h>

/* An even modulus, an exponent that is even or 1, or the mark of a generator whose keys can be factored
 * (CVE-2017-15361, "ROCA"). */
bool ar_rsa_is_weak(const BIGNUM *modulus, const BIGNUM *exponent);

#endif
