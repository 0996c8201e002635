/* What a server asks a person (elicitation), as the port shows it, and the answer as the server wants it.
 * Pure. */
#ifndef AR_MCP_QUESTION_H
#define AR_MCP_QUESTION_H

#include "json.h"
#include "tool.h"

#define AR_MCP_PROMPT_MAX 4096

AR_BEGIN_DECLS

/* Reads the params of elicitation/create, form or url. Everything in *ret is in the arena; its id is left to
 * the caller. False when it is no question that can be asked. */
bool ar_mcp_question_read(struct ar_arena *a, struct ar_json params, struct ar_tool_question *ret);

/* Writes {"action": ..., "content"?: ...}. An accepted form gets the schema's defaults for what the person
 * left out. `content` must be an object or it is taken as empty. */
void ar_mcp_question_answer(struct ar_json_parser *p, const struct ar_tool_question *q,
			    const struct ar_tool_answer *answer, struct ar_buf *out);

AR_END_DECLS

#endif
