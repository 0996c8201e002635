/* Parts of the read models of a turn, a thread and a session that are read beside them; private to
 * projection/. */
#ifndef AR_PROJECTION_PARTS_H
#define AR_PROJECTION_PARTS_H

#include "thread.h"

/* Members of a turn: attempt, environment, permission, limits, hook runs, processes, outputs. */
void ar_projection_turn_parts(const struct ar_session *s, const struct ar_thread *t,
			      const struct ar_turn *turn, struct ar_jw *w);

/* What its calls run in; NULL: it has not started, or that is not known any more. */
const struct ar_shape_turn_environment *ar_projection_environment_of(const struct ar_session *s,
								     const struct ar_turn *turn);

/* The turn of the thread that started last; NULL: none did. */
const struct ar_turn *ar_projection_newest_turn(const struct ar_thread *t);

/* Member `sandboxState` of a thread, or of the newest of a session. */
void ar_projection_sandbox(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w);

/* Members of a thread: tasks, taskGraph and blockedTasks, in short; those of the document have the rest. */
void ar_projection_thread_tasks(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w);

/* Members of a session: sandboxState, outputSummary, historySummary, deliveryState, toolInventoryRef,
 * executionEnvironment. */
void ar_projection_session_parts(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w);

#endif
