/* Closed children that are kept compressed. A session may have hundreds of them; hardly one is looked at
 * again, and opening the session must not cost more for it. When a snapshot is stored, the records and
 * threads of closed children go into packs of AR_PACK_SIZE. In the state that is restored from it, each
 * stands as a stub in its place: a thread without an id or turns, a child of which is known that it is
 * closed. A lookup of an id that a pack may have opens the pack, which fills its stubs.
 *
 * So packs change the form of the state and not its meaning: ar_session_snapshot() writes the same of a
 * state with packs as of the fold of the log. What walks over all threads or children, and wants closed ones
 * too, opens what it meets. Older programs refuse a snapshot with packs as damaged; they lose no child. */
#ifndef AR_SESSION_PACK_H
#define AR_SESSION_PACK_H

#include "state.h"

struct ar_subagent;

#define AR_PACK_SIZE 16 /* children of one */
#define AR_PACK_SPARED 4 /* newest closed ones that are in none */

struct ar_pack {
	int64_t number; /* what stands in the place of a stub in a snapshot */
	struct ar_str ids; /* base64: a mark of each id that its content is looked up by */
	struct ar_str body; /* base64 of the compressed JSON */
	/* not stored */
	struct ar_str marks; /* `ids`, decoded */
	struct ar_vec threads, subagents; /* its stubs */
	/* What they are filled with is the pack's: a copy of the struct ar_session sees it as well. */
	struct ar_arena arena;
	bool is_open;
};

/* Opens the packs that may have the id; false: none may. */
bool ar_packs_seek(const struct ar_session *s, struct ar_str id);
/* Opens one that a stub names. */
void ar_pack_open(struct ar_pack *p);
void ar_packs_open_all(const struct ar_session *s);
void ar_packs_fini(struct ar_session *s);

/* ---- for snapshot.c ---- */

/* The session as it is stored: stubs in the place of children that are packed now. What is new is in `a`. */
struct ar_session ar_packs_plan(const struct ar_session *s, struct ar_arena *a);

/* The stub of a thread, or of a child, that is read from a snapshot; false: there is no such pack. */
bool ar_pack_stub_thread(struct ar_session *s, int64_t number, struct ar_thread *stub);
bool ar_pack_stub_subagent(struct ar_session *s, int64_t number, struct ar_subagent *stub);
/* Whether all that were read can be used. */
bool ar_packs_are_whole(struct ar_session *s);

/* The JSON of a pack and back into its stubs; in snapshot.c, which has the tables. */
void ar_snapshot_write_pack(const struct ar_pack *p, struct ar_buf *out);
bool ar_snapshot_read_pack(struct ar_json v, struct ar_pack *p);

#endif
