/* Places inside the view that is being built: paths of the inside, looked up so that no link leads out of
 * it. */
#ifndef AR_INIT_VIEW_PATH_H
#define AR_INIT_VIEW_PATH_H

#include "init.h"

enum ar_view_path_kind {
	AR_VIEW_PATH_FOLDER,
	AR_VIEW_PATH_FILE, /* empty, readable by all */
};

/* O_PATH descriptor of an absolute path of the inside, made with its parents where it is missing; -1 with
 * errno. */
int ar_view_path_open(struct ar_init *in, const char *path, enum ar_view_path_kind kind);

/* A link with this text at an absolute path of the inside; one that is there already stays. */
int ar_view_path_link(struct ar_init *in, const char *path, const char *text);

/* Hangs a detached tree of mounts there and closes it; path must live as long as the view is built. Its last
 * name is no link. */
int ar_view_path_mount(struct ar_init *in, const char *path, enum ar_view_path_kind kind, int tree);

/* Forgets the folder that the last mount was made in. */
void ar_view_path_forget(struct ar_init *in);

#endif
