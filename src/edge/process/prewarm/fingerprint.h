/* What a view was made of, as one number: when a root of it is another folder or file than it was, a view
 * that was made before shows the old one. */
#ifndef AR_PROCESS_FINGERPRINT_H
#define AR_PROCESS_FINGERPRINT_H

#include "plan.h"

/* Of all roots of a plan and its workspace: which ones are there, and which they are. Not of what is in them,
 * which is seen as it changes. */
uint64_t ar_fingerprint_of(const struct ar_plan *p);

/* A descriptor that ar_mounts_changed() asks; -1: not supported here. */
int ar_mounts_watch(void);

/* Whether anything was mounted or unmounted on this host since it was asked last; also when nobody can
 * tell. */
bool ar_mounts_changed(int watch);

#endif
