/* Contents of the store, read one after the other from one git. */
#ifndef AR_FILES_CHECKPOINT_OBJECTS_H
#define AR_FILES_CHECKPOINT_OBJECTS_H

#include "checkpoint/store.h"

struct ar_objects {
	struct ar_git_child git; /* cat-file --batch */
};

/* False with the failure in the work. */
bool ar_objects_open(struct ar_objects *o, struct ar_store *s);

/* By its id in hex; until the next call. 0, or the errno: ETIME the time is over, EIO it is not there. */
int ar_objects_read(struct ar_objects *o, struct ar_str object, struct ar_str *ret);

void ar_objects_close(struct ar_objects *o);

#endif
