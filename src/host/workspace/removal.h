/* The folders that a session and its child agents had for themselves go when retention removes the session.
 * They are emptied behind a boundary, because their content is not ours; only folders of our own are gone
 * through to find them. If the process stops meanwhile, the folders stay. */
#ifndef AR_HOST_WORKSPACE_REMOVAL_H
#define AR_HOST_WORKSPACE_REMOVAL_H

#include "checkpoint.h"
#include "workspace/folders.h"

struct ar_host_removal {
	struct ar_host_folders *folders;
	struct ar_checkpoints *port; /* NULL: nothing is removed, also once it is closed */
};

/* A session that is certainly gone, by its 26 characters. Loop thread. */
void ar_host_removal_begin(struct ar_host_removal *r, struct ar_str session_key);

#endif
