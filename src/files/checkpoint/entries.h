/* The files and links of a workspace at one moment, in the order of their paths: what the index of a
 * checkpoint store holds and what a scan makes. Memory only. */
#ifndef AR_FILES_CHECKPOINT_ENTRIES_H
#define AR_FILES_CHECKPOINT_ENTRIES_H

#include "arena.h"
#include "hash.h"

#include <sys/stat.h>

/* Most that is kept of a workspace: beyond it there is no checkpoint. */
#define AR_TREE_ENTRIES_MAX 200000
#define AR_TREE_ENTRIES_BYTES_MAX ((int64_t)2 << 30)
#define AR_TREE_ENTRY_BYTES_MAX ((int64_t)64 << 20) /* a larger file is left out */
#define AR_TREE_ENTRY_PATH_MAX 4095

/* Modes as git writes them. */
#define AR_TREE_ENTRY_FILE 0100644u
#define AR_TREE_ENTRY_PROGRAM 0100755u
#define AR_TREE_ENTRY_LINK 0120000u

struct ar_tree_entry {
	struct ar_str path; /* from the workspace */
	uint32_t mode;
	bool is_racy; /* it changed so shortly before it was read that its times do not show a later change */
	int64_t size, mtime, ctime; /* nanoseconds since 1970 */
	uint64_t inode;
	struct ar_hash object;
};

struct ar_tree_entries {
	struct ar_tree_entry *at;
	size_t count, room;
	int64_t bytes;
	struct ar_arena arena; /* of paths that were added */
};

/* The order: names are compared byte by byte, and what is in a folder comes directly after the folder's
 * name. */
int ar_tree_entry_compare(struct ar_str a, struct ar_str b);

/* Whether git takes the name: not `.`, `..`, or `.git` in any case. */
bool ar_tree_entry_is_name(struct ar_str name);
bool ar_tree_entry_is_path(struct ar_str path); /* such names with one slash between them */

void ar_tree_entry_set_stat(struct ar_tree_entry *e, const struct stat *st);
bool ar_tree_entry_is_same_stat(const struct ar_tree_entry *e, const struct stat *st);

void ar_tree_entries_add(struct ar_tree_entries *l,
			 const struct ar_tree_entry *e); /* the path is not copied */
const struct ar_tree_entry *ar_tree_entries_find(const struct ar_tree_entries *l,
						 struct ar_str path); /* NULL: none */
void ar_tree_entries_fini(struct ar_tree_entries *l);

#endif
