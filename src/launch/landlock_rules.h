/* Sets of Landlock rules, for programs that put themselves or others under them. Depends on libc alone. */
#ifndef AR_LAUNCH_LANDLOCK_RULES_H
#define AR_LAUNCH_LANDLOCK_RULES_H

#include "landlock_uapi.h"

/* The kernel's ABI; 0: it has none, or it is switched off. */
int ar_landlock_abi(void);

/* An empty set of rules that handles every right of this ABI; -1 with errno. */
int ar_landlock_new(int abi);

/* Allows, of the rights that this ABI has, these at and below path; a path that is not there is left out. 0,
 * or -1 with errno. */
int ar_landlock_allow(int rules, int abi, const char *path, uint64_t rights);

/* Puts the calling thread and all that follow under the rules. */
int ar_landlock_enforce(int rules, int abi);

#endif
