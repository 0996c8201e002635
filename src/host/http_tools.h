/* The list `http_tools` of the settings as a source of tools. What the settings say wrong is said
 * before the start, not at the first call. */
#ifndef AR_HOST_HTTP_TOOLS_H
#define AR_HOST_HTTP_TOOLS_H

#include "config.h"
#include "status.h"
#include "tool.h"

#include <uv.h>

/* *ret is NULL when the list is empty. Fails when an entry cannot work, with the
 * sentence for the operator. */
AR_MUST_USE enum ar_status ar_http_tools_open(uv_loop_t *loop, const struct ar_config *c,
					      struct ar_tool_source **ret, struct ar_error *err);

#endif
