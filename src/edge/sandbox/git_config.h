/* The two things of a git configuration that a boundary needs: where hooks are looked for, and which other
 * files count as well. The text is read, git is not run: what a repository configures would run with it.
 * The caller follows the included files. */
#ifndef AR_SANDBOX_GIT_CONFIG_H
#define AR_SANDBOX_GIT_CONFIG_H

#include "arena.h"

AR_BEGIN_DECLS

/* The value of core.hooksPath, the last one counting; absent when the text has none. */
struct ar_str ar_git_hooks_path(struct ar_str text, struct ar_arena *a);

typedef void ar_git_each(void *ctx, struct ar_str path);

/* Reports the path of every file that the text includes, whatever the condition, as it is written. */
void ar_git_includes(struct ar_str text, struct ar_arena *a, ar_git_each *each, void *ctx);

/* The bytes of a small regular file that is not a link, in the arena; absent when it is none of that or over
 * 1 MiB. */
struct ar_str ar_git_read(struct ar_str path, struct ar_arena *a);

AR_END_DECLS

#endif
