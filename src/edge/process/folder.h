/* The folder of one process: made for it, found again by its path, removed with what is in it. Only folders
 * that are ours are touched: of our own user, closed to others, with a name of the form that we give. No
 * state. */
#ifndef AR_PROCESS_FOLDER_H
#define AR_PROCESS_FOLDER_H

#include "arena.h"
#include "plan.h"
#include "status.h"

#define AR_FOLDER_JOURNAL "journal"
#define AR_FOLDER_HANDLE "handle"
#define AR_FOLDER_SHIM "shim"
#define AR_FOLDER_PLAN "plan"
#define AR_FOLDER_CGROUPS_MAX 8

AR_BEGIN_DECLS

/* Makes `path` usable as the place of all folders; *ret is its real path, the caller's to ar_free. */
AR_MUST_USE enum ar_status ar_folder_prepare(const char *path, char **ret, struct ar_error *err);

/* A new folder below `parent`; its path is in the arena. The descriptor, or -1. */
int ar_folder_make(struct ar_str parent, struct ar_arena *a, struct ar_str *ret_path, struct ar_error *err);

/* The folder at this path, if it is one of ours; -1: it is not, or not any more. */
int ar_folder_open(struct ar_str path);

AR_MUST_USE enum ar_status ar_folder_write(int dir, const char *name, struct ar_str bytes,
					   struct ar_error *err);

/* The text of a plan. AR_E_LIMIT: it is longer than a plan may be. */
AR_MUST_USE enum ar_status ar_folder_write_plan(int dir, const char *name, const struct ar_plan *plan,
						struct ar_error *err);

/* A whole small file, in the arena; absent: not there or longer than `max`. */
struct ar_str ar_folder_read(int dir, const char *name, size_t max, struct ar_arena *a);

/* Whether the shim of the folder lives: it holds the lock. */
bool ar_folder_is_locked(int dir);

/* A connection to the shim, not blocking; -1 and errno. */
int ar_folder_connect(int dir);

/* The cgroup folders that the shim was given. */
void ar_folder_cgroups(int dir, struct ar_arena *a, struct ar_plan_paths *ret);

/* Removes it and the files in it; folders inside it are none of ours, then it stays. */
void ar_folder_remove(struct ar_str path);

AR_END_DECLS

#endif
