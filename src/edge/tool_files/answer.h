/* What a run of agent-files means for its call. */
#ifndef AR_TOOL_FILES_ANSWER_H
#define AR_TOOL_FILES_ANSWER_H

#include "contained.h"
#include "json.h"
#include "tool.h"

struct ar_files_answer {
	struct ar_json_parser *parser;
	enum ar_sandbox_profile profile; /* that it was started in */
	const char *tool; /* its name */
	bool writes; /* the tool changes files: when its end is lost nobody knows how far it came */
	struct ar_arena arena;
	struct ar_tool_image image;
	struct ar_str denial; /* violation of the tool itself, JSON; absent: none */
	struct ar_tool_result result;
};

/* The result, which lives as long as the answer, the end and the parser's document. */
const struct ar_tool_result *ar_files_answer_read(struct ar_files_answer *a,
						  const struct ar_contained_end *end);

const struct ar_tool_result *ar_files_answer_cancelled(void);

#endif
