/* Who drives the shim: one connection at a time, the newest. It is notified when the journal has grown; one
 * that does not read is dropped and may come back. */
#ifndef AR_SHIM_DRIVE_H
#define AR_SHIM_DRIVE_H

#include <stdbool.h>

struct ar_loop;
struct ar_shim;

struct ar_drive {
	int listener; /* `sock` in the folder */
	int connection; /* -1: nobody */
	bool is_greeted; /* HELLO went out */
	bool may_poke; /* LOOKED came since the last POKE */
};

/* The first connection is fd 3. Listens in the folder of the process, which is the working directory. */
bool ar_drive_open(struct ar_drive *d);
void ar_drive_watch(struct ar_shim *s, struct ar_loop *l);

/* At the end of a round: HELLO once agent-init is ready or has failed, a POKE when there is something new. */
void ar_drive_notify(struct ar_shim *s);

#endif
