/* The inspection port by reading the folder itself (read_text.h): instruction files of the folder and of
 * those above it in the same repository, nearest first; .mcp.json; skills; agent definitions. File systems
 * are asked on another thread; everything else is the loop thread's. */
#ifndef AR_HOST_WORKSPACE_INSPECTOR_H
#define AR_HOST_WORKSPACE_INSPECTOR_H

#include "inspect.h"
#include "list.h"
#include "redact.h"

#include <uv.h>

struct ar_host_inspector {
	struct ar_inspector port;
	uv_loop_t *loop; /* NULL: not open */
	uv_timer_t timer; /* runs while a look is open */
	const struct ar_redactor *redactor; /* borrowed */
	const char *file; /* name of instruction files; borrowed, empty: none are wanted */
	struct ar_list looks; /* all that a thread has */
};

void ar_host_inspector_open(uv_loop_t *loop, const char *file, const struct ar_redactor *redactor,
			    struct ar_host_inspector *ret);

#endif
