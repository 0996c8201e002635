/* See weak_rsa.h. The primes of a ROCA key are k*M + 65537^a mod M with M a product of small primes. So its
 * modulus is, modulo each of these, a power of 65537; that of another key is so for all of them about once in
 * 2^27. */
#include "weak_rsa.h"
#include "compiler.h"

static bool is_power(unsigned value, unsigned base, unsigned prime)
{
	unsigned power = 1;

	do {
		if (power == value)
			return true;
		power = power * (base % prime) % prime;
	} while (power != 1);
	return false;
}

static bool has_roca_mark(const BIGNUM *modulus)
{
	static const unsigned char primes[] = { 3,   5,	  7,   11,  13,	 17,  19,  23,	29,  31,
						37,  41,  43,  47,  53,	 59,  61,  67,	71,  73,
						79,  83,  89,  97,  101, 103, 107, 109, 113, 127,
						131, 137, 139, 149, 151, 157, 163, 167 };

	for (size_t i = 0; i < AR_ARRAY_LEN(primes); i++) {
		if (!is_power((unsigned)BN_mod_word(modulus, primes[i]), 65537, primes[i]))
			return false;
	}
	return true;
}

bool ar_rsa_is_weak(const BIGNUM *modulus, const BIGNUM *exponent)
{
	return !BN_is_odd(modulus) || !BN_is_odd(exponent) || BN_is_one(exponent) || has_roca_mark(modulus);
}
