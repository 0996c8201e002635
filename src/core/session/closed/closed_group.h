/* Closed children that are kept compressed. A session may have hundreds of them; hardly one is looked at
 * again, and opening the session must not cost more for it. When a snapshot is stored, the records and
 * threads of closed children go into groups of AR_CLOSED_GROUP_SIZE. In the state that is restored from it,
 * each stands as a stub in its place: a thread without an id or turns, a child of which is known that it is
 * closed. A lookup of an id that a group may have opens the group, which fills its stubs.
 *
 * So groups change the form of the state and not its meaning: ar_session_snapshot() writes the same of a
 * state with groups as of the fold of the log. What walks over all threads or children, and wants closed ones
 * too, opens what it meets. Older programs refuse a snapshot with groups as damaged; they lose no child. */
#ifndef AR_SESSION_CLOSED_GROUP_H
#define AR_SESSION_CLOSED_GROUP_H

#include "state.h"

struct ar_subagent;

#define AR_CLOSED_GROUP_SIZE 16 /* children of one */
#define AR_CLOSED_SPARED 4 /* newest closed ones that are in none */

struct ar_closed_group {
	int64_t number; /* what stands in the place of a stub in a snapshot */
	struct ar_str ids; /* base64: a mark of each id that its content is looked up by */
	struct ar_str body; /* base64 of the compressed JSON */
	/* not stored */
	struct ar_str marks; /* `ids`, decoded */
	struct ar_vec threads, subagents; /* its stubs */
	/* What they are filled with is the group's: a copy of the struct ar_session sees it as well. */
	struct ar_arena arena;
	bool is_open;
	bool is_unreadable; /* its body is not what was written: its stubs stay, and say so */
};

/* Opens the groups that may have the id; false: none may. */
bool ar_closed_groups_seek(const struct ar_session *s, struct ar_str id);
/* Opens one that a stub names. False: it cannot be read. Then its children are still known to be closed, and
 * nothing else; the body is stored on as it is, and the log has the facts (`verify` compares them). */
bool ar_closed_group_open(struct ar_closed_group *p);
void ar_closed_groups_open_all(const struct ar_session *s);
void ar_closed_groups_fini(struct ar_session *s);

/* ---- for snapshot.c ---- */

/* The session as it is stored: stubs in the place of children that are packed now. What is new is in `a`. */
struct ar_session ar_closed_groups_plan(const struct ar_session *s, struct ar_arena *a);

/* The stub of a thread, or of a child, that is read from a snapshot; false: there is no such group. */
bool ar_closed_group_stub_thread(struct ar_session *s, int64_t number, struct ar_thread *stub);
bool ar_closed_group_stub_subagent(struct ar_session *s, int64_t number, struct ar_subagent *stub);
/* Whether all that were read can be used. */
bool ar_closed_groups_are_whole(struct ar_session *s);

/* The JSON of a group and back into its stubs; in snapshot.c, which has the tables. */
void ar_snapshot_write_group(const struct ar_closed_group *p, struct ar_buf *out);
bool ar_snapshot_read_group(struct ar_json v, struct ar_closed_group *p);

#endif
