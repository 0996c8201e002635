/* Landlock: the second lock on what the view shows, and the one whose denials the kernel can prove. */
#ifndef AR_INIT_LANDLOCK_H
#define AR_INIT_LANDLOCK_H

#include "init.h"
#include "landlock_rules.h"

/* The rules of the plan, made inside its view and kept as in->rules. Without uses_landlock: nothing; with it
 * and no Landlock: an error. They name what lies beneath, so mounts that come on top of it later change
 * nothing. */
int ar_landlock_prepare(struct ar_init *in);

/* Puts us under them. */
int ar_landlock_apply(struct ar_init *in);

#endif
