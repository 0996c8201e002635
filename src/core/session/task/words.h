/* Words and texts of declared tasks that deciding, applying and rendering share: the members that may be changed, constraints, edges, and
 * JSON texts put together. Pure; texts are made in the arena given. */
#ifndef AR_SESSION_TASK_WORDS_H
#define AR_SESSION_TASK_WORDS_H

#include "session.h"

/* nextAttemptPolicy of an attempt after which the task is tried again by itself. */
#define AR_RETRY_AUTOMATIC "automatic"
#define AR_RETRY_MANUAL "manual"

/* A member that update_task may change. */
struct ar_task_member {
	const char *name;
	size_t offset; /* in struct ar_task, or in its sheet */
	bool in_sheet, is_text; /* is_text: a string; otherwise JSON of `type` */
	int type; /* enum ar_json_type */
	size_t max; /* bytes */
};

extern const struct ar_task_member ar_task_members[];
extern const size_t ar_task_member_count;

struct ar_str *ar_task_member(const struct ar_task *task, const struct ar_task_member *m);

/* A whole number of the constraints, such as retryPolicy.backoffMs; `inner` NULL: at the top. 0 when there is none. */
int64_t ar_constraint_number(const struct ar_session *s, const struct ar_sheet *sheet, const char *name,
			     const char *inner);

/* ---- edges ---- */

struct ar_edge *ar_task_edge(const struct ar_task *task, struct ar_str kind, struct ar_str target);
void ar_task_drop_edge(struct ar_task *task, const struct ar_edge *edge); /* NULL: none */

/* The same edge as its other end says it: blocks for blocked_by, parent for child. Absent: the kind has no other side. */
struct ar_str ar_edge_inverse(struct ar_str kind);

/* The edge as facts and answers show it; `source` may be absent. */
struct ar_shape_relationship ar_edge_shape(struct ar_str source, const struct ar_edge *edge);

/* ---- JSON texts ---- */

/* A member of an object: the text of a string, or the value as JSON. Absent: the object has none. */
struct ar_str ar_text_member(struct ar_json_parser *json, struct ar_arena *a, struct ar_str object,
			     const char *name, bool is_text);

/* Two objects as one; what both have is the newer's. */
struct ar_str ar_text_merged(struct ar_json_parser *json, struct ar_arena *a, struct ar_str older,
			     struct ar_str newer);

/* Two arrays as one, of which the newest `max` stay. */
struct ar_str ar_text_joined(struct ar_json_parser *json, struct ar_arena *a, struct ar_str older,
			     struct ar_str newer, size_t max);

struct ar_str ar_text_number(struct ar_arena *a, double v);

#endif
