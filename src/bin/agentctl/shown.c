/* See shown.h. Offsets count bytes of one model step. One thread. */
#include "shown.h"

static void begin_step(struct ar_shown *s, struct ar_out *o, struct ar_str step)
{
	if (ar_str_eq(ar_buf_str(&s->step), step))
		return;
	if (s->step.len && o)
		ar_out_break(o);
	ar_buf_clear(&s->step);
	ar_buf_adds(&s->step, step);
	s->text = s->reasoning = 0;
}

void ar_shown_request(struct ar_shown *s, struct ar_json event)
{
	struct ar_str purpose = ar_api_str(ar_json_get(event, "payload"), "purpose");

	ar_buf_clear(&s->aside);
	if (ar_str_is(purpose, "compaction"))
		ar_buf_adds(&s->aside, ar_api_str(event, "stepId"));
}

static bool is_aside(const struct ar_shown *s, struct ar_json event)
{
	return s->aside.len && ar_str_eq(ar_buf_str(&s->aside), ar_api_str(event, "stepId"));
}

/* The part of a piece that lies behind what was shown. */
static struct ar_str fresh_part(struct ar_json payload, int64_t *shown)
{
	struct ar_str delta = ar_api_str(payload, "delta");
	int64_t offset = *shown, end, skip;

	ar_json_i64(ar_json_get(payload, "offset"), &offset);
	end = offset + (int64_t)delta.len;
	if (end <= *shown)
		return AR_STR_NONE;
	skip = *shown > offset ? *shown - offset : 0;
	*shown = end;
	return ar_str_sub(delta, (size_t)skip, delta.len);
}

void ar_shown_text(struct ar_shown *s, struct ar_out *o, struct ar_json event)
{
	struct ar_str part;

	if (is_aside(s, event))
		return;
	begin_step(s, o, ar_api_str(event, "stepId"));
	part = fresh_part(ar_json_get(event, "payload"), &s->text);
	if (s->is_thinking && part.len) {
		s->is_thinking = false;
		ar_out_break(o);
		ar_out_printf(o, "\n");
	}
	ar_out_text(o, part);
}

void ar_shown_reasoning(struct ar_shown *s, struct ar_out *o, struct ar_json event)
{
	struct ar_str part;

	if (is_aside(s, event))
		return;
	begin_step(s, o, ar_api_str(event, "stepId"));
	part = fresh_part(ar_json_get(event, "payload"), &s->reasoning);
	if (!part.len)
		return;
	s->is_thinking = true;
	ar_out_style(o, AR_STYLE_DIM);
	ar_out_text(o, part);
	ar_out_style(o, AR_STYLE_PLAIN);
}

struct ar_str ar_shown_part(struct ar_shown *s, struct ar_json event, bool is_reasoning)
{
	if (is_aside(s, event))
		return AR_STR_NONE;
	begin_step(s, NULL, ar_api_str(event, "stepId"));
	return fresh_part(ar_json_get(event, "payload"), is_reasoning ? &s->reasoning : &s->text);
}

void ar_shown_fini(struct ar_shown *s)
{
	ar_buf_fini(&s->step);
	ar_buf_fini(&s->aside);
}
