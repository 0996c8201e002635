/* One call of a local tool while it is worked on: its arguments, what stops it, and its answer. Files of single tools see only this.
 *
 * owner: the worker thread between queueing and the end; is_cancelled alone is set from the loop thread meanwhile. */
#ifndef AR_LOCAL_WORK_H
#define AR_LOCAL_WORK_H

#include "arena.h"
#include "buf.h"
#include "json.h"
#include "tool.h"

#include <stdatomic.h>

#define AR_LOCAL_PATH_MAX 4096
#define AR_LOCAL_MEMORY_MAX ((size_t)32 << 20) /* of one call's arena */

struct ar_local_args {
	struct ar_str path, pattern, glob;
	int64_t offset, limit, depth, context;
	bool hidden, literal, ignore_case;
};

enum ar_local_arg_type {
	AR_LOCAL_STR = 1,
	AR_LOCAL_INT,
	AR_LOCAL_BOOL,
};

/* An argument, declared once: its schema and how it is read are made from this. */
struct ar_local_arg {
	const char *name, *text;
	enum ar_local_arg_type type;
	bool is_required;
	size_t at; /* place in struct ar_local_args */
	int64_t min, max, fallback; /* of a string: max bytes */
};

struct ar_local_work {
	struct ar_arena arena;
	struct ar_local_args args;
	struct ar_str workspace; /* NUL-terminated */
	atomic_bool is_cancelled;
	ar_usec until; /* monotonic */
	struct ar_buf text;
	size_t max_bytes; /* of text */
	struct ar_tool_image image; /* mime absent: none */
	enum ar_tool_outcome outcome; /* 0: still fine */
	const char *category, *advice;
	struct ar_str message;
};

struct ar_local_kind {
	const char *name, *title, *description;
	const struct ar_local_arg *args;
	size_t arg_count;
	void (*run)(struct ar_local_work *w);
};

extern const struct ar_local_kind ar_local_read_file, ar_local_list_files, ar_local_find_files,
	ar_local_search_files;

/* The JSON Schema of the arguments. */
void ar_local_write_schema(const struct ar_local_kind *kind, struct ar_buf *out);

/* Reads the arguments into w->args, strings copied into its arena; a failure is recorded in w. */
void ar_local_read_args(struct ar_local_work *w, const struct ar_local_kind *kind, struct ar_json args);

/* Records the first failure: what is wrong, and what the model should do next. */
void ar_local_fail(struct ar_local_work *w, const char *category, const char *advice, const char *fmt, ...)
	AR_PRINTF(4, 5);

static inline bool ar_local_failed(const struct ar_local_work *w)
{
	return w->outcome != 0;
}

/* Checked in every loop over what others made: the caller wants no answer any more. */
static inline bool ar_local_is_cancelled(const struct ar_local_work *w)
{
	return atomic_load_explicit(&w->is_cancelled, memory_order_relaxed);
}

/* Nothing further is begun: cancelled, out of time, or out of memory for this call. */
bool ar_local_is_over(const struct ar_local_work *w);

/* True when `bytes` more still fit into the answer. */
static inline bool ar_local_fits(const struct ar_local_work *w, size_t bytes)
{
	return w->text.len + bytes <= w->max_bytes;
}

#endif
