/* Reads a text file of a workspace, whose writer may be hostile (a cloned repository, a sandboxed command),
 * while this process can read what they cannot: only a regular file with one name, reached from the folder
 * without a link. Any thread. */
#ifndef AR_HOST_WORKSPACE_READ_TEXT_H
#define AR_HOST_WORKSPACE_READ_TEXT_H

#include "buf.h"

#define AR_READ_TEXT_MAX 65536

/* NULL when `out` has the whole text; else why it is not read. `folder`: a descriptor; below 0, errno says
 * why it could not be opened. */
const char *ar_read_text(int folder, const char *path, struct ar_buf *out);

#endif
