/* Paths in an arena, and the few questions about them that matter for a boundary: is one inside another, by
 * whole names. Nothing here follows links unless it says so. */
#ifndef AR_SANDBOX_PATH_LIST_H
#define AR_SANDBOX_PATH_LIST_H

#include "arena.h"
#include "json.h"
#include "plan.h"

AR_BEGIN_DECLS

/* Whether `path` is `folder` or below it. Both absolute, or both relative, without dots. */
bool ar_path_is_in(struct ar_str path, struct ar_str folder);

/* The path with every link on it followed, in the arena; absent when it does not exist. */
struct ar_str ar_path_real(struct ar_str path, struct ar_arena *a);

/* The same for one that is still to be made: what of it exists is followed. Absent when nothing of it
 * does. */
struct ar_str ar_path_future(struct ar_str path, struct ar_arena *a);

/* Adds a copy unless it is there; false when the list is full. */
bool ar_path_add(struct ar_plan_paths *list, struct ar_str path, struct ar_arena *a);
bool ar_path_has(const struct ar_plan_paths *list, struct ar_str path);

/* Whether one of them is the path or holds it. */
bool ar_path_covers(const struct ar_plan_paths *list, struct ar_str path);

/* The next entry of a list of settings, without blanks around it; *rest moves on. False at the end; empty
 * ones are passed over. */
bool ar_path_next(struct ar_str *rest, const char *separators, struct ar_str *ret);

void ar_path_json(struct ar_jw *w, const struct ar_plan_paths *list); /* as elements */

AR_END_DECLS

#endif
