/* Contents of the store by their ids, read one after the other through one git cat-file. */
#ifndef AR_FILES_CHECKPOINT_OBJECTS_H
#define AR_FILES_CHECKPOINT_OBJECTS_H

#include "checkpoint/store.h"

struct ar_object_reader {
	struct ar_git_child git;
};

/* False with the failure in the work. close() follows an open that succeeded. */
bool ar_objects_open(struct ar_store *s, struct ar_object_reader *ret);
void ar_objects_close(struct ar_object_reader *r);

/* The bytes of a file or the target of a link; valid until the next read. False: it cannot be read. */
bool ar_objects_read(struct ar_object_reader *r, struct ar_str id, struct ar_str *ret);

#endif
