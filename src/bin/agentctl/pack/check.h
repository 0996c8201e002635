/* A pack is checked: signature, digests, tree. Needs no daemon. */
#ifndef AR_CTL_PACK_CHECK_H
#define AR_CTL_PACK_CHECK_H

#include "crypto/merkle.h"
#include "pack/pack.h"

/* What of its session a pack has. */
enum ar_pack_extent {
	AR_EXTENT_SESSION = 1, /* every fact */
	AR_EXTENT_TURN, /* every fact with one turnId */
	AR_EXTENT_PART, /* others */
};

struct ar_pack_checked {
	struct ar_str fingerprint; /* of the key that signed it */
	struct ar_str session; /* id */
	enum ar_pack_extent extent;
	uint64_t facts; /* of the scope */
	uint64_t size; /* of the tree */
	struct ar_str root; /* of the tree, in hex */
	uint64_t files, gaps;
};

/* `key` is the public key that it must be signed with; absent: any. What is wrong has been said on standard
 * error. */
AR_MUST_USE enum ar_exit ar_pack_check(struct ar_ctl *c, const char *path, struct ar_str key,
				       struct ar_pack_checked *ret);

/* Whether the first facts of the log, as the pack has it, are those of an earlier pack of the session. */
AR_MUST_USE enum ar_exit ar_pack_compare(struct ar_ctl *c, const char *path,
					 const struct ar_pack_checked *earlier);

/* Who looks at the tree each time that a fact was added. */
struct ar_pack_watch {
	void (*grown)(void *arg, struct ar_merkle *tree, const struct ar_hash *leaf);
	void *arg;
};

/* The root over the first `size` facts (0: all) of the pack in the folder; false: it has not as many, or a
 * fact does not have the hash that is listed for it. *ret_size is how many it has. `watch`: NULL,
 * nobody does. */
bool ar_pack_tree(int folder, uint64_t size, const struct ar_pack_watch *watch, char ret_root[AR_HASH_HEX],
		  uint64_t *ret_size);

#endif
