/* The tools with which a model spawns agents and hears of them. They are only described here: the session
 * itself answers their calls (core/session/subagent/tools.c). */
#ifndef AR_AGENT_TOOLS_H
#define AR_AGENT_TOOLS_H

#include "tool.h"

struct ar_tool_source *ar_agent_tools_new(void);

#endif
