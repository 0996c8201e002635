/* Fuzz target: messages of a worker. The first byte says what they are read as, the rest are messages of the
 * link, each behind two bytes of length. Whatever they are, what is read lies inside the message, and what is
 * called JSON is JSON. */
#include "mem.h"
#include "worker_codec.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_inside(const struct ar_wire_message *m, struct ar_str s)
{
	if (s.len > 0)
		AR_ASSERT(s.p >= m->bytes.p && s.p + s.len <= m->bytes.p + m->bytes.len);
}

static void check_result(struct ar_wire_message *m, struct ar_arena *a)
{
	const struct ar_tool_result *r = ar_codec_read_tool_result(m, a);

	if (m->is_broken)
		return;
	check_inside(m, r->text);
	AR_ASSERT(ar_str_absent(r->text) || ar_str_is_utf8(r->text));
	if (!ar_str_absent(r->structured))
		AR_ASSERT(ar_wire_is_json(m->checker, r->structured, AR_JSON_OBJECT));
	for (size_t i = 0; i < r->artifact_count; i++) {
		check_inside(m, r->artifacts[i].content);
		AR_ASSERT(r->artifacts[i].path.len > 0 && r->artifacts[i].size >= 0);
	}
	for (size_t i = 0; i < r->violation_count; i++)
		AR_ASSERT(ar_wire_is_json(m->checker, r->violations[i], AR_JSON_OBJECT));
}

static void read_as(uint8_t what, struct ar_wire_message *m, struct ar_arena *a)
{
	union {
		struct ar_tool_call call;
		struct ar_process_spec spec;
		struct ar_process_ready ready;
		struct ar_process_report report;
		struct ar_process_end end;
		struct ar_checkpoint_run run;
		struct ar_checkpoint_result result;
		struct ar_inspected found;
	} to;
	struct ar_codec_gap gap;
	struct ar_str tool;

	switch (what % 9) {
	case 0:
		check_result(m, a);
		break;
	case 1:
		ar_codec_read_tool(m, &to.call, &tool);
		break;
	case 2:
		ar_codec_read_spec(m, a, &to.spec);
		break;
	case 3:
		ar_codec_read_ready(m, m->head, &to.ready);
		break;
	case 4:
		ar_codec_read_report(m, &to.report);
		if (!m->is_broken && ar_codec_read_gap(m->checker, to.report.detail, &gap))
			AR_ASSERT(gap.from <= gap.to);
		break;
	case 5:
		ar_codec_read_end(m, &to.end);
		break;
	case 6:
		ar_codec_read_checkpoint(m, a, &to.run);
		break;
	case 7:
		ar_codec_read_checkpoint_result(m, a, &to.result);
		break;
	default:
		ar_codec_read_inspected(m, a, &to.found);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_wire_in in = { .parser = ar_json_parser_new(), .checker = ar_json_parser_new() };
	uint8_t what = len > 0 ? bytes[0] : 0;
	size_t at = 1;

	while (at + 2 <= len) {
		size_t size = (size_t)bytes[at] << 8 | bytes[at + 1];
		struct ar_wire_message m;
		struct ar_arena a = { 0 };
		enum ar_wire_read read;

		at += 2;
		if (size > len - at)
			size = len - at;
		read = ar_wire_read(&in, (struct ar_str){ (const char *)bytes + at, size }, &m);
		at += size;
		if (read == AR_WIRE_WHOLE) {
			AR_ASSERT(m.op.len > 0);
			read_as(what, &m, &a);
			ar_wire_in_done(&in, &m);
		}
		ar_arena_fini(&a);
		if (read == AR_WIRE_BROKEN)
			break;
	}
	ar_wire_in_fini(&in);
	ar_json_parser_free(in.parser);
	ar_json_parser_free(in.checker);
	return 0;
}
