/* Tools that run commands: shell, terminal_open, process_write, process_read, process_stop, as one source of
 * port/tool.h. It starts nothing itself: it says what process it wants, and the runtime launches it inside
 * the sandbox profile that was settled, records it, and reports its end. A command as text is one argument of
 * bash (or sh); no shell text is ever built here.
 *
 * Everything is called on the loop thread. */
#ifndef AR_EXEC_TOOLS_H
#define AR_EXEC_TOOLS_H

#include "tool.h"

#include <uv.h>

/* Zero means the default. */
struct ar_exec_options {
	int64_t timeout_ms; /* 120 s: of a command that names no timeoutMs */
	int64_t max_ms; /* an hour: longest that one may name, and that what lives on has */
};

AR_BEGIN_DECLS

/* Never fails. close() calls on_done of what is open, and the loop must run on for the memory to go. */
struct ar_tool_source *ar_exec_tools_new(uv_loop_t *loop, const struct ar_exec_options *o);

AR_END_DECLS

#endif
