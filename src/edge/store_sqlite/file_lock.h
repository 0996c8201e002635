/* One process at a time per store file: an advisory lock on a file beside it, with the owner's pid inside
 * for the sentence that the second one prints. The kernel drops the lock with the process, however it
 * dies. */
#ifndef AR_EDGE_STORE_FILE_LOCK_H
#define AR_EDGE_STORE_FILE_LOCK_H

#include "status.h"

AR_BEGIN_DECLS

/* Locks `<path>.lock`, creating it. AR_E_EXISTS when another process has it. *ret_fd is the lock. */
AR_MUST_USE enum ar_status ar_file_lock_acquire(const char *path, int *ret_fd, struct ar_error *err);
void ar_file_lock_drop(int fd);

AR_END_DECLS

#endif
