/* The rows that let a session and its tasks be found, rendered from its state: written by every commit,
 * and what a verification expects to find. Pure; text is in the arena that the caller gives. */
#ifndef AR_ENGINE_INDEX_ROWS_H
#define AR_ENGINE_INDEX_ROWS_H

#include "codec.h"
#include "session.h"
#include "store.h"

struct ar_store_session_row ar_index_session(const struct ar_session *s, struct ar_arena *a);

/* The last fact that a stored row was written with, from its shell; 0 when it does not say. */
uint64_t ar_index_head(struct ar_json_parser *json, struct ar_str shell);

/* One row per task that a fact of these is about and that the state still has; `rows` has room for
 * twice `count`: an edge has two ends. Returns how many. */
size_t ar_index_tasks(const struct ar_session *s, const struct ar_event *events, size_t count,
		      struct ar_arena *a, struct ar_store_task_row *rows);

/* One row per question that a fact of these is about; `rows` has room for `count`. Returns how many. */
size_t ar_index_actions(const struct ar_session *s, const struct ar_event *events, size_t count,
			struct ar_arena *a, struct ar_store_action_row *rows);

/* One row per item of a job that a fact of these is about, as the newest of them says; `rows` has room for
 * `count`. Returns how many. */
size_t ar_index_items(const struct ar_session *s, const struct ar_event *events, size_t count,
		      struct ar_arena *a, struct ar_store_item_row *rows);

/* One row per process that a fact of these is about and that the state still has; `rows` has room for
 * `count`. Returns how many. They are items of a list that no job has. */
#define AR_INDEX_PROCESSES UINT64_C(0)
size_t ar_index_processes(const struct ar_session *s, const struct ar_event *events, size_t count,
			  struct ar_arena *a, struct ar_store_item_row *rows);

/* What each cost.recorded of these adds to what was used; `rows` has room for `count`. Returns how many. */
size_t ar_index_usage(const struct ar_session *s, const struct ar_event *events, size_t count, ar_usec at,
		      struct ar_store_usage_row *rows);

#endif
