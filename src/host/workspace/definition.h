/* A skill or an agent definition out of the text of its file, whose writer may be hostile. Any thread. */
#ifndef AR_HOST_WORKSPACE_DEFINITION_H
#define AR_HOST_WORKSPACE_DEFINITION_H

#include "arena.h"
#include "inspect.h"
#include "status.h"

#define AR_DEFINITION_DIR_MAX 128 /* entries of a directory of the settings */

/* NULL when `ret` has it, with texts in the arena; otherwise why it is not used, "word: sentence" of at
 * most 256 bytes. Without a name in the front matter it has that of its folder (a skill) or its file. */
const char *ar_definition_read(enum ar_inspect_kind kind, struct ar_str path, struct ar_str file,
			       struct ar_arena *a, struct ar_definition *ret);

/* Names of the entries of a directory, sorted; at most `max`, in its own order. Closes `fd`. */
size_t ar_definition_names(int fd, struct ar_arena *a, const char **ret, size_t max);

/* Whether an entry of that name is one: the folder of a skill, the file of an agent. */
bool ar_definition_is_file(enum ar_inspect_kind kind, const char *name);

/* All of a directory of the settings; `ret` has room for AR_DEFINITION_DIR_MAX. One that cannot be used is an
 * error: the operator wrote it. Folders without a SKILL.md are skipped. */
AR_MUST_USE enum ar_status ar_definition_dir(enum ar_inspect_kind kind, const char *dir, struct ar_arena *a,
					     struct ar_definition *ret, size_t *ret_count,
					     struct ar_error *err);

#endif
