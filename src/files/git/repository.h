/* Git repositories inside a workspace, beside its own: git, run in one of them, runs what its
 * configuration and hooks name. File tools do not make or change them; those that commands made are
 * listed and disabled by the owner of the workspace (`agentctl sandbox`). */
#ifndef AR_FILES_REPOSITORY_H
#define AR_FILES_REPOSITORY_H

#include "write/changes.h"

/* After the file was put in place: it belongs to such a repository. */
bool ar_repository_has(const struct ar_changes *c, const struct ar_change *f);

/* No tools of a model. The text has a line for each repository. */
void ar_files_repositories(struct ar_files_work *w, struct ar_json args);

/* args.path: a .git entry, or a folder that has one or is a repository itself. It is renamed so that git does
 * not find it: HEAD, and what is named .git. */
void ar_files_quarantine(struct ar_files_work *w, struct ar_json args);

#endif
