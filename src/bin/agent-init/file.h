/* Small files, mostly of the kernel: written or read whole. */
#ifndef AR_INIT_FILE_H
#define AR_INIT_FILE_H

#include <stddef.h>

/* 0, or -1 with errno. */
int ar_file_write(int dir, const char *path, const char *text);

/* What fits, with an end; its length, or -1 with errno. */
long ar_file_read(int dir, const char *path, char *out, size_t room);

#endif
