/* Everything in a folder removed, without following a link. */
#ifndef AR_FILES_ISOLATION_CLEAR_H
#define AR_FILES_ISOLATION_CLEAR_H

#include "work.h"

/* False with the failure in the work; some of it may be gone. */
bool ar_clear_folder(struct ar_files_work *w, int folder);

#endif
