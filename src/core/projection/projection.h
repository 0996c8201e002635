/* The read models: session state as the JSON documents that consumers read. Pure renderers of the fold
 * (core/session), so a replayed session and a live one give the same bytes. What is not known here is
 * said (not_applicable, unavailable), never guessed. */
#ifndef AR_PROJECTION_PROJECTION_H
#define AR_PROJECTION_PROJECTION_H

#include "session.h"

/* What of a session is shown. Threads of child agents in which nothing runs or waits are left out, with the
 * tasks of their turns: a session with hundreds of them costs its readers no more than one without. */
struct ar_projection_scope {
	struct ar_str thread; /* only this one, whatever it is; absent: the session */
	bool with_ended; /* those of ended child agents, too */
	/* Threads whose model is answering now, which no fact says; none: unknown. */
	struct ar_texts streaming;
};

/* session_snapshot: valid under the standard's snapshot schema and its profile; of one thread it is the
 * thread_read_model. NULL: the session. Writes the members of an object that the caller opened. */
void ar_projection_session(const struct ar_session *s, struct ar_str runtime_id,
			   const struct ar_projection_scope *of, struct ar_jw *w);

/* One line of list_sessions. */
void ar_projection_shell(const struct ar_session *s, struct ar_jw *w);

/* The coarse status of the session's threads together, for filters: running, blocked, stale or idle. */
struct ar_str ar_projection_status(const struct ar_session *s);

/* task_snapshot: the record of one task that the session knows, a turn's or a declared one. */
void ar_projection_task(const struct ar_session *s, struct ar_str id, struct ar_jw *w);
/* The word that lists are filtered by. */
struct ar_str ar_projection_task_status(const struct ar_session *s, const struct ar_task *task);
void ar_projection_task_summary(const struct ar_session *s, struct ar_jw *w);

/* One question, pending or settled: a line of list_actions. The whole of it is in the session's
 * pendingRequests and actions. */
struct ar_action;
void ar_projection_action(const struct ar_session *s, const struct ar_action *a, struct ar_jw *w);

/* One process: a line of a thread's processes, and of get_execution_environment. */
struct ar_shape_process_record ar_projection_process(const struct ar_process_record *p);

/* What the calls of a turn (NULL: none) run in, with the variables of its newest process. False: it has not
 * started, or that is not known any more. */
bool ar_projection_turn_environment(const struct ar_session *s, const struct ar_turn *turn,
				    struct ar_shape_turn_environment *ret);

/* A page of the artifacts, newest change first, as an array; returns the sequence of the last one when more
 * follow, else 0. */
struct ar_artifact_page {
	int64_t before; /* sequence that they changed before */
	size_t limit;
	const struct ar_texts *of; /* only these; NULL: all */
};
int64_t ar_projection_artifact_page(const struct ar_session *s, const struct ar_artifact_page *page,
				    struct ar_jw *w);

/* An artifact, then the versions that it replaced, newest first, at most so many in all; as an array. */
void ar_projection_artifact_versions(const struct ar_session *s,
				     const struct ar_shape_artifact_record *newest, size_t most,
				     struct ar_jw *w);

/* A page of the checkpoints, newest first, as an array; returns the sequence of the last one when more
 * follow, else 0. */
struct ar_checkpoint_page {
	int64_t before; /* sequence that they were begun before */
	size_t limit;
	struct ar_str thread, turn; /* only those of it; absent: all */
};
int64_t ar_projection_checkpoint_page(const struct ar_session *s, const struct ar_checkpoint_page *page,
				      struct ar_jw *w);

/* A page of the child agents, oldest first, as an array; returns where the next one begins, or 0. */
struct ar_subagent_page {
	size_t from, limit;
	struct ar_str thread; /* whose children; absent: of the session */
	struct ar_str status; /* only those; absent: all */
	bool is_deep; /* their children, too */
};
size_t ar_projection_subagent_page(const struct ar_session *s, const struct ar_subagent_page *page,
				   struct ar_jw *w);

/* Of the log of a workspace: its record, and its status for filters (active, archived). */
void ar_projection_workspace(const struct ar_session *s, struct ar_jw *w);
struct ar_str ar_projection_workspace_status(const struct ar_session *s);

/* The same of the log of a worker (active, removed). */
void ar_projection_worker(const struct ar_session *s, struct ar_jw *w);
struct ar_str ar_projection_worker_status(const struct ar_session *s);
void ar_projection_schedule(const struct ar_session *s, struct ar_jw *w);
struct ar_str ar_projection_schedule_status(const struct ar_session *s); /* open or ended */

/* queue_snapshot of one thread. */
void ar_projection_queue(const struct ar_thread *t, struct ar_jw *w);

#endif
