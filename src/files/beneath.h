/* Opening what lies below a folder, and nothing else: no "..", link or race of renames leads out. The kernel
 * holds this with openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS); where that call is not there (a
 * boundary's filter may answer ENOSYS) every name on the way is opened by itself without following links, and
 * links are followed by hand from where they lie. */
#ifndef AR_FILES_BENEATH_H
#define AR_FILES_BENEATH_H

#include <stdbool.h>

/* A descriptor with O_CLOEXEC, or -1 with errno: EXDEV leads out, ELOOP a link where none may be. Never
 * creates. */
int ar_beneath_open(int folder, const char *path, int flags, bool follows_links);

/* The way without openat2; what ar_beneath_open takes when it must. */
int ar_beneath_walk(int folder, const char *path, int flags, bool follows_links);

#endif
