/* Small files in which the kernel says something. */
#ifndef AR_SHIM_KERNEL_FILE_H
#define AR_SHIM_KERNEL_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the beginning of folder/name as text; without a folder `name` is the path. Returns its length;
 * nothing there: 0 and an empty text. */
size_t ar_kernel_file_read(const char *folder, const char *name, char *out, size_t room);

bool ar_kernel_file_write(const char *folder, const char *name, const char *text);

#endif
