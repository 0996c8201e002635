/* One thread inside a session document; private to projection/. */
#ifndef AR_PROJECTION_THREAD_H
#define AR_PROJECTION_THREAD_H

#include "projection.h"

/* What of a session is shown, found once. */
struct ar_shown {
	struct ar_arena arena; /* fini: ar_arena_fini() */
	struct ar_vec threads; /* struct ar_thread */
	struct ar_str thread; /* the only one; absent: the session */
	struct ar_texts streaming; /* as in the scope */
	/* All that have not ended and the newest that have, newest first; the list commands have all. */
	struct ar_vec children; /* struct ar_shape_subagent_record */
	struct ar_vec jobs; /* struct ar_job */
};

void ar_projection_show(const struct ar_session *s, const struct ar_projection_scope *of,
			struct ar_shown *ret);
void ar_projection_thread(const struct ar_session *s, const struct ar_thread *t, const struct ar_shown *among,
			  struct ar_jw *w);

/* One task, compact: of its edges to child agents those whose child is shown. Turn NULL: a declared one. */
void ar_projection_shown_task(const struct ar_session *s, const struct ar_task *task,
			      const struct ar_turn *turn, const struct ar_shown *shown, struct ar_jw *w);
struct ar_shape_relationship_list ar_projection_relationships(const struct ar_session *s,
							      const struct ar_task *task,
							      const struct ar_shown *shown,
							      struct ar_arena *a); /* NULL: all edges */

void ar_projection_shown_summary(const struct ar_session *s, const struct ar_shown *session, struct ar_jw *w);

/* Members taskGroups (ids by state), blockedTasks and taskGraph. */
void ar_projection_task_groups(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w);

/* action.c: members `actions` and `pendingRequests`, and `permissionState`, of one
 * thread or (NULL) of all. */
void ar_projection_actions(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w);
void ar_projection_permission(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w);

/* item/turn_items.c: member `items` of a turn: all that happened in it, in order. */
void ar_projection_turn_items(const struct ar_session *s, const struct ar_turn *turn, struct ar_jw *w);

/* Member `toolCalls`. */
void ar_projection_tool_calls(const struct ar_thread *t, struct ar_jw *w);

/* process.c: members `processes` and `sandboxState` of one thread. */
void ar_projection_processes(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w);

/* channel.c: members `channels` of a thread (they follow the whole session) and
 * `channelSummary` of the session. */
void ar_projection_channels(const struct ar_session *s, struct ar_jw *w);
void ar_projection_channel_summary(const struct ar_session *s, struct ar_jw *w);

/* Member `outputs`. */
void ar_projection_outputs(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w);

/* artifact.c: member `artifactSummary` of a session, of one thread or (absent) of all, with the newest; and
 * of a thread inside it, with their ids. */
void ar_projection_artifact_summary(const struct ar_session *s, struct ar_str thread, struct ar_jw *w);
void ar_projection_checkpoint_summary(const struct ar_session *s, struct ar_str thread, struct ar_jw *w);
void ar_projection_thread_artifacts(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w);

/* job.c: member `jobs` of a thread (they are of the whole session) and of `subagentJobSummary`. */
void ar_projection_show_jobs(const struct ar_session *s, struct ar_shown *ret);
void ar_projection_jobs(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w);

/* subagent.c: member `subagents` of a thread, and `subagentJobSummary` of the session. */
void ar_projection_thread_subagents(const struct ar_thread *t, const struct ar_shown *shown, struct ar_jw *w);
void ar_projection_subagent_summary(const struct ar_session *s, const struct ar_shown *shown,
				    struct ar_jw *w);

/* telemetry/telemetry.c: the traces of the turns of these threads (struct ar_thread). */
void ar_projection_telemetry(const struct ar_session *s, const struct ar_vec *threads, struct ar_jw *w);

/* Member `diagnostics`. */
void ar_projection_diagnostics(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w);

/* Where its conversation was shortened last. */
void ar_projection_boundary(const struct ar_thread *t, struct ar_jw *w);

/* evidence.c: member `evidenceSummary` of a thread, and `evidenceRefs` of one or (absent) of all. */
void ar_projection_evidence(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w);
void ar_projection_evidence_refs(const struct ar_session *s, struct ar_str thread, struct ar_jw *w);

#endif
