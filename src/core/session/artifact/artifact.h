/* Artifacts: what calls and tasks leave for readers, by id and version. The bytes are content behind refs,
 * or with the service that made them; a fact has none of them. The newest are in the state, all are in
 * the log. */
#ifndef AR_SESSION_ARTIFACT_H
#define AR_SESSION_ARTIFACT_H

#include "decide.h"

#define AR_ARTIFACTS_PER_CALL 256 /* of which there are facts */
#define AR_ARTIFACTS_LISTED 256 /* ids of them that one fact has */
#define AR_ARTIFACT_FILE "file" /* kind of one that is a file of the workspace */
#define AR_ARTIFACT_OTHER "artifact" /* kind of one whose producer names none */
#define AR_ARTIFACT_DELETED "deleted" /* the version of a file that is gone */
#define AR_WARNING_ARTIFACTS "artifacts_not_recorded"

/* A version of an artifact, as readers get it. */
struct ar_artifact {
	const struct ar_shape_artifact_record *record; /* its `versions` counts up to this one */
};

static inline const struct ar_shape_artifact_record *ar_artifact_at(const struct ar_vec *v, size_t i)
{
	return ((const struct ar_artifact *)v->at[i])->record;
}

/* state.c */
/* The newest version of it; NULL: there is none, or it left the window. */
const struct ar_shape_artifact_record *ar_session_artifact(const struct ar_session *s, struct ar_str id);

/* Ids of the artifacts that this turn changed, also when a later one changed them again. Ids of those that
 * a turn of the thread changed last, the newest AR_ARTIFACTS_LISTED of them. */
struct ar_texts ar_artifacts_of_turn(const struct ar_session *s, struct ar_str turn, struct ar_arena *a);
struct ar_texts ar_artifacts_of_thread(const struct ar_session *s, struct ar_str thread, struct ar_arena *a);

/* Files that changed, as facts get them. */
struct ar_changed_files {
	const struct ar_tool_artifact *at;
	size_t count;
	size_t total; /* with those that are not listed */
	/* Seen to have changed while a turn ran: by its commands, or by others in the same folder */
	bool is_observed;
};

/* decide_artifact.c */
/* The files that a call or a turn changed, as facts; returns the ids of those that are known, each once. */
struct ar_texts ar_decide_artifacts(struct ar_decision *d, const struct ar_ids *owner,
				    const struct ar_changed_files *files);

#endif
