/* Tools that work on the files of the workspace, as one source of port/tool.h: each call is one run of
 * agent-files behind a boundary. What the tools do is src/files; nothing of it runs in this process. Where no
 * boundary can be had, no call runs.
 *
 * Everything is called on the loop thread. */
#ifndef AR_TOOL_FILES_H
#define AR_TOOL_FILES_H

#include "boundary.h"
#include "tool.h"

#include <uv.h>

/* Zero means the default. */
struct ar_tool_files_options {
	int64_t max_result_bytes; /* 256 KiB: text of one result */
	int64_t max_ms; /* 15 s: then list, find and search answer with what they have */
};

AR_BEGIN_DECLS

/* The sandbox outlives the source and all its processes. cancel() kills the process of a call and is followed
 * by on_done; close() calls on_done at once, and the loop must run on for the processes to be waited for. */
struct ar_tool_source *ar_tool_files_new(uv_loop_t *loop, struct ar_sandbox *sandbox,
					 const struct ar_tool_files_options *o);

AR_END_DECLS

#endif
