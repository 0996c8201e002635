/* Tools that read the workspace: read_file, list_files, find_files, search_files, as one source of port/tool.h. Nothing is written or run.
 *
 * Everything is called on the loop thread; the work itself runs on libuv's worker threads. */
#ifndef AR_LOCAL_TOOLS_H
#define AR_LOCAL_TOOLS_H

#include "tool.h"

#include <uv.h>

/* Zero means the default. */
struct ar_local_options {
	uint32_t max_result_bytes; /* 256 KiB: text of one result */
	uint32_t max_ms; /* 15 s: then list, find and search answer with what they have */
};

AR_BEGIN_DECLS

/* Never fails: what keeps it from offering its tools is its `trouble`. The workspace comes with each call. cancel() is followed by on_done
 * as soon as the worker notices; close() calls on_done at once, and the loop must run on for the memory to go. */
struct ar_tool_source *ar_local_tools_new(uv_loop_t *loop, const struct ar_local_options *o);

AR_END_DECLS

#endif
