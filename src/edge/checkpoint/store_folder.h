/* The folder of a workspace's store, and those that its sessions and agents have for themselves. Loop
 * thread. */
#ifndef AR_EDGE_CHECKPOINT_STORE_FOLDER_H
#define AR_EDGE_CHECKPOINT_STORE_FOLDER_H

#include "arena.h"
#include "status.h"

struct ar_store_folder {
	struct ar_str dir; /* of all workspaces */
	const char *tenant, *workspace; /* names */
	struct ar_str folder; /* of the workspace: whose owner the store gets */
};

/* Makes it where it is missing; its path is in the arena. AR_E_UNAVAILABLE with the sentence. */
AR_MUST_USE enum ar_status ar_store_folder_make(const struct ar_store_folder *f, struct ar_arena *a,
						struct ar_str *ret, struct ar_error *err);

#define AR_STORE_NAME_MAX 64

/* Makes the folder of a session or an agent where it is missing, for the owner of `folder`; one that is not
 * below the folders of the workspace is left alone. */
AR_MUST_USE enum ar_status ar_own_folder_make(const struct ar_store_folder *f, struct ar_str path,
					      struct ar_arena *a, struct ar_error *err);
bool ar_own_folder_is_gone(struct ar_str path, struct ar_arena *a);
/* One that is empty, with the folders of ours above it that are empty then. */
AR_MUST_USE enum ar_status ar_own_folder_remove(struct ar_str path, struct ar_arena *a, struct ar_error *err);

#endif
