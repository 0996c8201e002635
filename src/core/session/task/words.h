/* Words and texts of declared tasks that deciding, applying and rendering share: constraints, edges, and
 * texts put together. Pure; texts are made in the arena given. */
#ifndef AR_SESSION_TASK_WORDS_H
#define AR_SESSION_TASK_WORDS_H

#include "session.h"

/* nextAttemptPolicy of an attempt after which the task is tried again by itself. */
#define AR_RETRY_AUTOMATIC "automatic"
#define AR_RETRY_MANUAL "manual"

/* Never NULL: empty when there are none. */
const struct ar_shape_task_constraints *ar_task_constraints(const struct ar_task *task);
const struct ar_shape_retry_policy *ar_task_retry_policy(const struct ar_task *task);

/* A number of the constraints; 0 when there is none that can be used. */
int64_t ar_task_limit(struct ar_opt_int n);

/* ---- edges ---- */

struct ar_edge *ar_task_edge(const struct ar_task *task, struct ar_str kind, struct ar_str target);
void ar_task_drop_edge(struct ar_task *task, const struct ar_edge *edge); /* NULL: none */

/* The same edge as its other end says it: blocks for blocked_by, parent for child. Absent: the
 * kind has no other side. */
struct ar_str ar_edge_inverse(struct ar_str kind);

/* The edge as facts and answers show it; `source` may be absent. */
struct ar_shape_relationship ar_edge_shape(struct ar_str source, const struct ar_edge *edge);

/* ---- texts ---- */

/* Two objects as one; what both have is the newer's. */
struct ar_str ar_text_merged(struct ar_json_parser *json, struct ar_arena *a, struct ar_str older,
			     struct ar_str newer);

/* Two lists as one, of which the newest `max` stay; the texts are copied. */
struct ar_texts ar_texts_joined(struct ar_arena *a, struct ar_texts older, struct ar_texts newer, size_t max);

#endif
