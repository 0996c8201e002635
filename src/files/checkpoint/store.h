/* The store of a workspace's checkpoints: a folder with a bare git repository, the index and a lock. Nothing
 * of it lies in the workspace; it is never the user's repository. One process at a time has it.
 *
 *   checkpoints.git   refs/checkpoints/<session>/<tree> for each id that a session keeps, refs/base for the
 *                     last tree that was saved
 *   index             see index.h; index.<label> and refs/bases/<label> for another folder of the workspace
 *   forgotten         a byte for each id that was forgotten since everything was packed
 *   lock              held while the store is open */
#ifndef AR_FILES_CHECKPOINT_STORE_H
#define AR_FILES_CHECKPOINT_STORE_H

#include "buf.h"
#include "git/child.h"
#include "hash.h"

#define AR_STORE_ID AR_HASH_HEX
#define AR_STORE_PACKS_MAX 32 /* then forgetting packs them into one */
#define AR_STORE_FORGOTTEN_MAX 32 /* ids whose objects are still there */
#define AR_STORE_BYTES_MAX ((int64_t)8 << 30)

struct ar_store {
	struct ar_files_work *work;
	const char *path;
	const char *session; /* whose ids are meant */
	/* Of the folder that is saved, where it is not that of the workspace; NULL: it is. Set after open. */
	const char *label;
	char *git_dir; /* "--git-dir=..." */
	int fd, lock;
	bool is_ours; /* the lock is held */
	size_t files_max; /* of one checkpoint */
	int64_t bytes_max;
};

/* Makes what is missing, and removes what a process that was killed left. False with the failure in the
 * work. */
bool ar_store_open(struct ar_store *s, struct ar_files_work *w, struct ar_str path, struct ar_str session);
void ar_store_close(struct ar_store *s);

/* git in the store, with the arguments behind the store's options. False with the failure in the work. */
bool ar_store_git_open(struct ar_store *s, const char *const *args, struct ar_git_child *ret);

/* The same until its end: `input` may be absent, `ret` NULL or with a cap. */
bool ar_store_git(struct ar_store *s, const char *const *args, struct ar_str input, struct ar_buf *ret);

/* Records that git failed in the store. */
void ar_store_git_failed(struct ar_store *s, const struct ar_git_child *c);

bool ar_store_is_id(struct ar_str text);
bool ar_store_has(const struct ar_store *s, const char *id); /* the session keeps it */

struct ar_store_use {
	size_t packs;
	int64_t bytes; /* of packs */
	int64_t forgotten; /* ids since everything was packed */
};
struct ar_store_use ar_store_use(const struct ar_store *s);

void ar_store_count_forgotten(const struct ar_store *s, size_t ids); /* 0: everything was packed */

/* Removes objects that nothing holds any more, if there are many. It is no failure of the call if this is not
 * done in time: the next one tries again. */
void ar_store_pack_if_needed(struct ar_store *s);
void ar_store_pack(struct ar_store *s); /* in any case */

/* The session saves now. Ids that other sessions keep which saved none for so many days are forgotten, a few
 * sessions at a time; the day after counts, so that what a reader is shown is still there. */
void ar_store_forget_unused(struct ar_store *s, int64_t days);

/* Absent: there is none. The caller frees. */
bool ar_store_read_index(const struct ar_store *s, struct ar_buf *ret);
bool ar_store_write_index(const struct ar_store *s, struct ar_str bytes); /* errno says why not */

#endif
