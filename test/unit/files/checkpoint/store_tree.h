/* A workspace (tree.h) with a store of checkpoints beside it. */
#ifndef AR_TEST_FILES_CHECKPOINT_STORE_TREE_H
#define AR_TEST_FILES_CHECKPOINT_STORE_TREE_H

#include "tree.h"

#define ID 65

struct tree *store_tree(void); /* a new workspace with an empty store */
const char *store_path(const struct tree *t, const char *name); /* of the store; until the next call */

/* Operations that must succeed; the answer is t->last. */
void store_save(struct tree *t, char ret_id[ID]);
void store_restore(struct tree *t, const char *to);
void store_diff(struct tree *t, const char *from, const char *to); /* `to` NULL: the files as they are */
void store_forget(struct tree *t, const char *id);

void store_session(const char *name); /* whose ids all that follows means; at first "one" */

/* One operation, however it ends: `more` is added to the arguments. */
struct call *store_run(struct tree *t, const char *tool, const char *more);

size_t store_packs(const struct tree *t);

/* A shell in the workspace, which must succeed; STORE is the path of the store. */
void store_shell(struct tree *t, const char *command);

/* The hash of all files and links of the workspace but those in .git, with their modes: not by git. */
void store_state(struct tree *t, char ret[ID]);

/* Whether some object of the store contains the text. */
bool store_holds(struct tree *t, const char *text);

#endif
