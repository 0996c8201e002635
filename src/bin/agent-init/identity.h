/* Who the command is: its ids, no capability, nothing that a program file could add. */
#ifndef AR_INIT_IDENTITY_H
#define AR_INIT_IDENTITY_H

#include "init.h"

/* Takes the uid and gid of the plan (root backend), empties every capability set, sets no_new_privs, and ties
 * us to our parent's life. */
int ar_identity_set(struct ar_init *in);

#endif
