/* What a peer may ask of us beside requests: frames that cost it little and us more are paid from an
 * allowance that grows with time. A client that behaves never comes near its end. Pure. */
#ifndef AR_TRANSPORT_H2_BUDGET_H
#define AR_TRANSPORT_H2_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ar_h2_budget {
	uint64_t spent; /* of the allowance; what time gives back is taken off */
	uint64_t at; /* milliseconds, of the last frame */
};

/* Pays for a frame of this type with so many bytes of payload; `is_final`: it ends a stream. False: the
 * allowance is used up. */
bool ar_h2_budget_pay(struct ar_h2_budget *b, uint8_t type, size_t bytes, bool is_final, uint64_t now);

/* Bytes went out: a reader of much has to open windows often. */
void ar_h2_budget_earn(struct ar_h2_budget *b, size_t bytes);

#endif
