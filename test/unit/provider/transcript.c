/* See transcript.h. */
#include "transcript.h"

#include "mem.h"
#include "unit.h"

static const struct ar_wire *format_of(const char *name)
{
	const struct ar_wire *wire = ar_wire_find(ar_str_from(name));

	assert_non_null(wire);
	return wire;
}

static void on_tool(void *owner, uint32_t index, struct ar_str id, struct ar_str name)
{
	struct reading *r = owner;

	ar_buf_addf(&r->outputs, "C%u(%.*s,%.*s)", index, AR_STR_ARG(id), AR_STR_ARG(name));
}

static void on_output(void *owner, enum ar_output_kind kind, uint32_t index, struct ar_str bytes)
{
	struct reading *r = owner;

	assert_true(bytes.len > 0);
	if (kind == AR_OUT_TOOL_ARGS)
		ar_buf_addf(&r->outputs, "A%u", index);
	else
		ar_buf_addc(&r->outputs, kind == AR_OUT_TEXT ? 'T' : 'R');
	ar_buf_addf(&r->outputs, "(%.*s)", AR_STR_ARG(bytes));
}

void reading_open(struct reading *r, const char *format, size_t output_max)
{
	struct ar_answer_sink sink = { on_tool, on_output, r };

	*r = (struct reading){ .json = ar_json_parser_new() };
	ar_answer_init(&r->answer, format_of(format), r->json, &sink, output_max);
}

void reading_close(struct reading *r)
{
	ar_answer_fini(&r->answer);
	ar_json_parser_free(r->json);
	ar_buf_fini(&r->outputs);
}

struct ar_model_result *reading_feed(struct reading *r, struct ar_str bytes, size_t step)
{
	for (size_t at = 0; at < bytes.len; at += step) {
		if (!ar_answer_feed(&r->answer, ar_str_sub(bytes, at, step)))
			break;
	}
	return ar_answer_end(&r->answer);
}

static void assert_one(const char *format, const struct transcript *t, size_t step)
{
	struct reading r;
	struct ar_model_result *got;

	reading_open(&r, format, 1 << 20);
	got = reading_feed(&r, ar_str_from(t->bytes), step);
	if (got->outcome != t->outcome || !ar_str_is(ar_buf_str(&r.outputs), t->outputs))
		print_error("%s: '%s' in steps of %zu\n", format, t->name, step);
	assert_str(ar_buf_str(&r.outputs), t->outputs);
	assert_int_equal(got->outcome, t->outcome);
	assert_true(ar_str_eq(got->stop_reason, ar_str_from(t->stop_reason)));
	assert_int_equal(ar_str_absent(got->category), got->outcome == AR_MODEL_COMPLETED);
	if (t->category)
		assert_str(got->category, t->category);
	reading_close(&r);
}

void assert_transcripts(const char *format, const struct transcript *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_one(format, &list[i], SIZE_MAX / 2);
		assert_one(format, &list[i], 1);
		assert_one(format, &list[i], 7);
	}
}

void assert_every_cut(const char *format, const char *bytes, size_t end)
{
	struct reading whole, part;
	struct ar_str all = ar_str_from(bytes);

	reading_open(&whole, format, 1 << 20);
	assert_int_equal(reading_feed(&whole, all, all.len)->outcome, AR_MODEL_COMPLETED);
	for (size_t n = 0; n <= all.len; n++) {
		enum ar_model_outcome want = n < end ? AR_MODEL_CUT : AR_MODEL_COMPLETED;
		struct ar_model_result *got;

		reading_open(&part, format, 1 << 20);
		got = reading_feed(&part, ar_str_sub(all, 0, n), n + 1);
		if (got->outcome != want)
			print_error("%s: cut at byte %zu: '%.*s'\n", format, n, 40,
				    bytes + (n > 40 ? n - 40 : 0));
		assert_int_equal(got->outcome, want);
		assert_true(ar_str_starts(ar_buf_str(&whole.outputs), ar_buf_str(&part.outputs)));
		if (want == AR_MODEL_CUT)
			assert_true(got->retryable);
		reading_close(&part);
	}
	reading_close(&whole);
}

void assert_every_damage(const char *format, const char *bytes)
{
	struct ar_str all = ar_str_from(bytes);
	char *copy = ar_str_dup(all);

	for (size_t n = 0; n < all.len; n++) {
		struct reading r;

		copy[n] = '\xff';
		reading_open(&r, format, 1 << 20);
		assert_true(reading_feed(&r, (struct ar_str){ copy, all.len }, 64)->outcome != 0);
		assert_true(ar_str_is_utf8(ar_buf_str(&r.outputs)));
		reading_close(&r);
		copy[n] = bytes[n];
	}
	ar_free(copy);
}

void assert_cap(const char *format, const char *bytes, size_t cap, const char *outputs)
{
	struct reading r;
	struct ar_model_result *got;

	reading_open(&r, format, cap);
	got = reading_feed(&r, ar_str_from(bytes), 64);
	assert_str(ar_buf_str(&r.outputs), outputs);
	assert_int_equal(got->outcome, AR_MODEL_GARBLED);
	assert_str(got->category, "too_large");
	assert_false(got->retryable);
	reading_close(&r);
}

void assert_whole(const char *format, const char *body, const char *outputs, enum ar_model_outcome outcome)
{
	struct reading r;

	reading_open(&r, format, 1024);
	ar_answer_whole(&r.answer, ar_str_from(body));
	assert_int_equal(ar_answer_end(&r.answer)->outcome, outcome);
	assert_str(ar_buf_str(&r.outputs), outputs);
	reading_close(&r);
}

static enum ar_status write_body(const char *format, const struct ar_model_request *r, struct ar_buf *out,
				 struct ar_error *err)
{
	struct ar_json_parser *json = ar_json_parser_new();
	const struct ar_wire *wire = format_of(format);
	enum ar_status st = wire->write(r, ar_str_from(wire->version), json, out, err);

	ar_json_parser_free(json);
	return st;
}

void assert_body(const char *format, const struct ar_model_request *r, const char *want)
{
	struct ar_buf out = { 0 };
	struct ar_error err;

	assert_int_equal(write_body(format, r, &out, &err), AR_OK);
	assert_str(ar_buf_str(&out), want);
	ar_buf_fini(&out);
}

void assert_refused(const char *format, const struct ar_model_request *r)
{
	struct ar_buf out = { 0 };
	struct ar_error err = { 0 };

	assert_int_equal(write_body(format, r, &out, &err), AR_E_INVALID);
	assert_true(err.msg[0] != '\0');
	ar_buf_fini(&out);
}
