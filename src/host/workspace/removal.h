/* The folder that a session had for itself goes when retention removes the session. It is emptied behind a
 * boundary, because its content is not ours; only folders of our own are gone through to find it. If the
 * process stops meanwhile, the folder stays. */
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
