/* Tools that work on the files of a workspace: their table, and one call from a request to an answer. The
 * program agent-files is this behind a pair of pipes; the daemon looks at the table alone.
 *
 * Request: {"tool","args","workspace","maxBytes","maxMs"}. Answer:
 * {"outcome","text","image","category","message","advice","denied","changes","versions"}, outcome the number
 * of an enum ar_tool_outcome; `denied` has the path that the kernel refused by the boundary. More
 * tools are in no table and offered to no model: `undo`, with args {"changes"} as an answer had them,
 * `repositories`, `quarantine` with args {"path"}, and those of checkpoint/checkpoint.h. */
#ifndef AR_FILES_FILES_H
#define AR_FILES_FILES_H

#include "work.h"

#define AR_FILES_REQUEST_MAX ((size_t)24 << 20)
#define AR_FILES_ANSWER_MAX ((size_t)48 << 20)

struct ar_files_request {
	struct ar_str tool, args, workspace;
	int64_t max_bytes; /* of the text of the answer */
	int64_t max_ms; /* then list, find and search answer with what they have */
};

AR_BEGIN_DECLS

/* The tools in the order of the table; NULL behind the last. */
const struct ar_files_kind *ar_files_kind_at(size_t i);

void ar_files_write_request(const struct ar_files_request *r, struct ar_buf *out);

/* Does what the request asks for and writes the answer; of a request that cannot be read too. */
void ar_files_serve(struct ar_str request, struct ar_buf *out);

AR_END_DECLS

#endif
