/* Landlock: the second lock on what the view shows, and the one whose denials the kernel can prove. */
#ifndef AR_INIT_LANDLOCK_H
#define AR_INIT_LANDLOCK_H

#include "init.h"

#include <stdint.h>

/* The kernel's ABI; 0: it has none, or it is switched off. */
int ar_landlock_abi(void);

/* An empty set of rules that handles every right of this ABI; -1 with errno. */
int ar_landlock_new(int abi);

/* Allows, of the rights that this ABI has, these at and below path; a path that is not there is left out. 0, or -1 with errno. */
int ar_landlock_allow(int rules, int abi, const char *path, uint64_t rights);

/* Puts the calling thread and all that follow under the rules. */
int ar_landlock_enforce(int rules, int abi);

/* The rules of the plan, made inside its view and kept as in->rules. Without uses_landlock: nothing; with it and no Landlock: an error. They name what lies
 * beneath, so mounts that come on top of it later change nothing. */
int ar_landlock_prepare(struct ar_init *in);

/* Puts us under them. */
int ar_landlock_apply(struct ar_init *in);

#endif
