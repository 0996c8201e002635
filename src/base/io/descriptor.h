/* What several callers do with a descriptor and the kernel does in pieces. No state. */
#ifndef AR_BASE_IO_DESCRIPTOR_H
#define AR_BASE_IO_DESCRIPTOR_H

#include "str.h"

AR_BEGIN_DECLS

/* False: errno says why; some of it may be written. */
AR_MUST_USE bool ar_fd_write_all(int fd, struct ar_str bytes);

/* A descriptor (O_PATH, O_CLOEXEC) of the folder, with no link anywhere on the path; -1: errno says why. */
int ar_fd_open_folder(const char *path);

/* Whether it is a file of this user that nobody else can read or change: what a secret is read from. */
bool ar_fd_is_private_file(int fd);

/* Closes *fd unless it is -1, which it is afterwards. */
void ar_fd_close(int *fd);

AR_END_DECLS

#endif
