/* /dev, /proc and the private folders of the view. */
#ifndef AR_INIT_DEV_H
#define AR_INIT_DEV_H

#include "init.h"

/* A mount of a new instance of this file system, detached; options as key, value, key, value, NULL. */
int ar_dev_new_mount(const char *type, const char *const options[], unsigned attrs);

/* A few devices, terminals of its own, shared memory. */
int ar_dev_mount(struct ar_init *in);

/* The processes of its own pid namespace, read-only, at `path` of the view. */
int ar_dev_mount_proc(struct ar_init *in);

/* /tmp, the home and /dev/shm: the view's own memory, made writable there. */
int ar_dev_mount_private(struct ar_init *in);

#endif
