/* The folders that a session works in: its own, and those that child agents have for themselves. A child
 * without one works where its parent does. Everything about a folder that is not the workspace's asks here
 * which of them is meant. Pure. */
#ifndef AR_SESSION_WORKSPACE_WORK_FOLDER_H
#define AR_SESSION_WORKSPACE_WORK_FOLDER_H

#include "decide.h"

struct ar_work_folder {
	const struct ar_shape_subagent_record *child; /* whose folder it is; NULL: the session's */
	const struct ar_shape_workspace_binding *bound; /* NULL: the session has no workspace of its own */
	const struct ar_shape_session_files *files; /* NULL: it is shared, or was not needed so far */
};

struct ar_work_folder ar_work_folder_of_session(const struct ar_session *s);
struct ar_work_folder ar_work_folder_of_child(
	const struct ar_shape_subagent_record *r); /* that has a folder */
/* Where turns of the thread work. */
struct ar_work_folder ar_work_folder_in(const struct ar_session *s, struct ar_str thread);
/* By the id of a child with a folder; any other id, and none: the session's. */
struct ar_work_folder ar_work_folder_named(const struct ar_session *s, struct ar_str child);
/* What a child's is filled from and merged into. */
struct ar_work_folder ar_work_folder_around(const struct ar_session *s, const struct ar_work_folder *p);
/* All of them in turn, the session's first; `*at` begins as 0. False: there are no more. */
bool ar_work_folder_next(const struct ar_session *s, size_t *at, struct ar_work_folder *ret);

bool ar_work_folder_is_same(const struct ar_work_folder *a, const struct ar_work_folder *b);
bool ar_work_folder_is_own(const struct ar_work_folder *p); /* it is not the folder of the workspace itself */
bool ar_work_folder_has(const struct ar_work_folder *p, int status); /* of session_files */
bool ar_work_folder_is_merging(const struct ar_work_folder *p);
struct ar_str ar_work_folder_child(const struct ar_work_folder *p); /* its id; absent: the session's */
struct ar_ids ar_work_folder_ids(const struct ar_work_folder *p); /* of a fact about it */

/* The words for a refusal: "the session", "agent sub_...". */
struct ar_str ar_work_folder_owner(struct ar_arena *a, const struct ar_work_folder *p);

/* How the fact leaves the folder that it names; apply.c and its neighbours only. */
struct ar_event;
struct ar_work_folder ar_apply_work_folder(const struct ar_session *s, const struct ar_event *e);
void ar_apply_files(struct ar_session *s, const struct ar_work_folder *p,
		    const struct ar_shape_session_files *f);

#endif
