/* One call of a file tool while it is worked on: its arguments, what stops it, and its answer. Files of
 * single tools see only this. */
#ifndef AR_FILES_WORK_H
#define AR_FILES_WORK_H

#include "arena.h"
#include "buf.h"
#include "json.h"
#include "tool.h"

#define AR_FILES_PATH_MAX 4096
#define AR_FILES_MEMORY_MAX ((size_t)32 << 20) /* of one call's arena */

struct ar_files_args {
	struct ar_str path, pattern, glob;
	struct ar_str content, expected_hash, old_text, new_text, patch;
	int64_t offset, limit, depth, context;
	bool hidden, literal, ignore_case, create_dirs, replace_all, staged;
};

enum ar_files_arg_type {
	AR_FILES_STR = 1,
	AR_FILES_INT,
	AR_FILES_BOOL,
};

/* An argument, declared once: its schema and how it is read are made from this. */
struct ar_files_arg {
	const char *name, *text;
	enum ar_files_arg_type type;
	bool is_required;
	size_t at; /* place in struct ar_files_args */
	int64_t min, max, fallback; /* of a string: its bytes */
};

struct ar_files_work {
	struct ar_arena arena;
	struct ar_files_args args;
	struct ar_str workspace; /* NUL-terminated */
	ar_usec until; /* monotonic */
	struct ar_buf text;
	size_t max_bytes; /* of text */
	struct ar_tool_image image; /* mime absent: none */
	/* JSON array of what was changed, with what was there before; absent: nothing */
	struct ar_str changes;
	struct ar_str versions; /* JSON array of the same files as they are now; absent: nothing */
	struct ar_str checkpoint; /* JSON object of checkpoint/checkpoint.h; absent: none */
	struct ar_str usage; /* JSON object {bytes, isPartial}: of the workspace; absent: not measured */
	enum ar_tool_outcome outcome; /* 0: still fine */
	const char *category, *advice;
	struct ar_str message;
	/* The kernel refused this path by rules of the workspace or the sandbox; absent: it did not. */
	struct ar_str denied;
	int denied_errno;
};

struct ar_files_kind {
	const char *name, *title, *description;
	bool writes; /* else it changes nothing */
	bool is_idempotent; /* running it again with the same arguments changes nothing further */
	const struct ar_files_arg *args;
	size_t arg_count;
	void (*run)(struct ar_files_work *w);
};

extern const struct ar_files_kind ar_files_read_file, ar_files_list_files, ar_files_find_files,
	ar_files_search_files, ar_files_write_file, ar_files_edit_file, ar_files_apply_patch,
	ar_files_git_status, ar_files_git_diff;

/* The JSON Schema of the arguments. */
void ar_files_write_schema(const struct ar_files_kind *kind, struct ar_buf *out);

/* Reads the arguments into w->args, strings copied into its arena; a failure is recorded in w. */
void ar_files_read_args(struct ar_files_work *w, const struct ar_files_kind *kind, struct ar_json args);

/* Records the first failure: what is wrong, and what the model should do next. */
void ar_files_fail(struct ar_files_work *w, const char *category, const char *advice, const char *fmt, ...)
	AR_PRINTF(4, 5);

void ar_files_forgive(struct ar_files_work *w); /* the failure does not count: the call goes on without */

static inline bool ar_files_failed(const struct ar_files_work *w)
{
	return w->outcome != 0;
}

/* Nothing further is begun: out of time, or out of memory for this call. Checked in every loop over what
 * others made. */
bool ar_files_is_over(const struct ar_files_work *w);

/* True when `bytes` more still fit into the answer. */
static inline bool ar_files_fits(const struct ar_files_work *w, size_t bytes)
{
	return w->text.len + bytes <= w->max_bytes;
}

#endif
