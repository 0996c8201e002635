/* The last records of a journal. */
#ifndef AR_SHIM_SEAL_H
#define AR_SHIM_SEAL_H

struct ar_shim;

/* Writes as many of them as the disk takes; called again until termination.is_over. */
void ar_seal_step(struct ar_shim *s);

#endif
