/* What the model reads of a command: how it ended, what it wrote, and what the sandbox kept it from. */
#ifndef AR_EXEC_REPORT_H
#define AR_EXEC_REPORT_H

#include "buf.h"
#include "tool.h"

#define AR_EXEC_HEAD 32768 /* bytes of the output that are shown from its beginning */
#define AR_EXEC_TAIL \
	31744 /* and from its end: with the words around them they fit the usual limit of a result */

/* How a process ended, as the end of its call. */
struct ar_exec_ending {
	enum ar_tool_outcome outcome;
	const char *category, *advice; /* of what is not OK */
};

struct ar_exec_ending ar_exec_ending_of(const struct ar_process_end *end);

/* It did not end well, and the sandbox refused it something meanwhile: both are on record. */
bool ar_exec_was_denied(const struct ar_process_result *r);

/* One line, without an end of line. */
void ar_exec_write_end(const struct ar_process_end *end, struct ar_buf *out);

/* Head and tail with what was left out between them; binary ones as the beginning in hexadecimal. */
void ar_exec_write_output(struct ar_str output, bool is_truncated, bool is_binary, struct ar_buf *out);

/* The whole of it, and the same as JSON. */
void ar_exec_write_result(const struct ar_process_result *r, struct ar_buf *out);
void ar_exec_result_json(const struct ar_process_result *r, struct ar_buf *out);

#endif
