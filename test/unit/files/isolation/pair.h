/* A workspace with a store (store_tree.h) and the folder of a session beside it. */
#ifndef AR_TEST_FILES_ISOLATION_PAIR_H
#define AR_TEST_FILES_ISOLATION_PAIR_H

#include "checkpoint/store_tree.h"

struct tree *pair_new(void);

/* The folder of the session, filled; must succeed. The base is t->last.id. */
void pair_fill(struct tree *t, const char *kind);
struct call *pair_try_fill(struct tree *t, const char *kind);

/* The same store, workspace and session: one merge from the base, however it ends; `more` is added. */
struct call *pair_merge(struct tree *t, const char *base, const char *more);

/* A shell in the folder of the workspace, with SESSION as the other one; must succeed. */
void pair_shell(struct tree *t, const char *command);

/* A file system of its own there, in a namespace of this process; false: it cannot be had. */
bool pair_mount(const char *path, const char *options);

/* Whether both have the same files and links, byte for byte, with their x bits, but for .git. */
bool pair_is_same(struct tree *t);

#endif
