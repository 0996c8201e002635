/* What the ports carry, as members of messages and back. Reading checks every member: JSON that is relayed is
 * JSON, numbers are in range, lists have a limit; what fails that sets is_broken of the message. Texts that
 * are read live as long as the message, lists in the arena. No state. */
#ifndef AR_EDGE_WORKER_CODEC_H
#define AR_EDGE_WORKER_CODEC_H

#include "arena.h"
#include "ports.h"
#include "worker_wire.h"

AR_BEGIN_DECLS

/* codec_tool.c. Deadlines travel as the time that is left. */
void ar_codec_write_tool(struct ar_wire_writer *w, const struct ar_tool_call *c, int64_t left_ms);
void ar_codec_read_tool(struct ar_wire_message *m, struct ar_tool_call *ret, struct ar_str *ret_tool);
void ar_codec_write_tool_result(struct ar_wire_writer *w, const struct ar_tool_result *r);
const struct ar_tool_result *ar_codec_read_tool_result(struct ar_wire_message *m, struct ar_arena *a);
void ar_codec_write_artifacts(struct ar_wire_writer *w, const struct ar_tool_artifact *artifacts,
			      size_t count);
const struct ar_tool_artifact *ar_codec_read_artifacts(struct ar_wire_message *m, struct ar_arena *a,
						       size_t *ret_count);

/* codec_process.c */
void ar_codec_write_spec(struct ar_wire_writer *w, const struct ar_process_spec *s);
void ar_codec_read_spec(struct ar_wire_message *m, struct ar_arena *a, struct ar_process_spec *ret);
void ar_codec_write_ready(struct ar_wire_writer *w, const struct ar_process_ready *r);
void ar_codec_read_ready(struct ar_wire_message *m, struct ar_json v, struct ar_process_ready *ret);
void ar_codec_write_report(struct ar_wire_writer *w, const struct ar_process_report *r);
void ar_codec_read_report(struct ar_wire_message *m, struct ar_process_report *ret);
void ar_codec_write_end(struct ar_wire_writer *w, const struct ar_process_end *e);
void ar_codec_read_end(struct ar_wire_message *m, struct ar_process_end *ret);
enum ar_process_stream ar_codec_read_stream(struct ar_wire_message *m);

/* The bytes that a report AR_PROC_TRUNCATED is about; false: its detail does not say. */
struct ar_codec_gap {
	enum ar_process_stream stream;
	uint64_t from, to;
};
bool ar_codec_read_gap(struct ar_json_parser *p, struct ar_str detail, struct ar_codec_gap *ret);

/* codec_run.c */
void ar_codec_write_checkpoint(struct ar_wire_writer *w, const struct ar_checkpoint_run *r, int64_t left_ms);
void ar_codec_read_checkpoint(struct ar_wire_message *m, struct ar_arena *a, struct ar_checkpoint_run *ret);
void ar_codec_write_checkpoint_result(struct ar_wire_writer *w, const struct ar_checkpoint_result *r);
void ar_codec_read_checkpoint_result(struct ar_wire_message *m, struct ar_arena *a,
				     struct ar_checkpoint_result *ret);
void ar_codec_write_inspected(struct ar_wire_writer *w, const struct ar_inspected *found);
void ar_codec_read_inspected(struct ar_wire_message *m, struct ar_arena *a, struct ar_inspected *ret);

AR_END_DECLS

#endif
