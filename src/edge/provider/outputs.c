/* Outputs, tools and verdicts of an answer, with the cap that all of them share. Pure. */
#include "outputs.h"

#include "mem.h"
#include "refusal.h"

#define NAME_MAX_BYTES 256
#define TOOLS_MAX 128
#define COUNT_MAX (INT64_MAX / 8) /* so that a few of them can be added */

/* ---- verdicts ---- */

static void set_malformed(struct ar_answer *a, const char *category, bool retryable, struct ar_str message)
{
	if (a->result.outcome)
		return;
	a->result.outcome = AR_MODEL_GARBLED;
	a->result.category = ar_str_from(category);
	a->result.retryable = retryable;
	a->result.message = message;
}

void ar_out_malformed(struct ar_answer *a, const char *what, struct ar_str bytes)
{
	struct ar_str excerpt = ar_str_utf8_prefix(bytes, NAME_MAX_BYTES);

	set_malformed(a, "protocol", true, ar_arena_fmt(&a->arena, "%s: %.*s", what, AR_STR_ARG(excerpt)));
}

void ar_out_oversize(struct ar_answer *a)
{
	set_malformed(a, "too_large", false,
		      AR_STR("the answer of the model is larger than the configured maximum"));
}

void ar_out_fail(struct ar_answer *a, struct ar_json error)
{
	if (!a->result.outcome)
		ar_refusal_fail(&a->arena, error, &a->result);
}

/* Charges bytes that the peer makes us keep or pass on. */
static bool charge(struct ar_answer *a, size_t len)
{
	if (a->result.outcome)
		return false;
	if (len > a->output_left) {
		ar_out_oversize(a);
		return false;
	}
	a->output_left -= len;
	return true;
}

/* ---- outputs ---- */

void ar_out_put(struct ar_answer *a, enum ar_output_kind kind, uint32_t index, struct ar_str bytes)
{
	if (bytes.len > 0 && charge(a, bytes.len))
		a->sink.on_output(a->sink.owner, kind, index, bytes);
}

bool ar_out_put_member(struct ar_answer *a, enum ar_output_kind kind, struct ar_json object, const char *name)
{
	struct ar_str text;

	if (!ar_json_str(ar_json_get(object, name), &text) || text.len == 0)
		return false;
	ar_out_put(a, kind, 0, text);
	return true;
}

/* ---- tool calls ---- */

struct ar_answer_tool *ar_out_tool_new(struct ar_answer *a, int64_t wire_index)
{
	struct ar_answer_tool *t;

	if (a->tool_count == TOOLS_MAX) {
		ar_out_oversize(a);
		return NULL;
	}
	a->tools = ar_grow(a->tools, a->tool_count + 1, sizeof(*a->tools));
	t = &a->tools[a->tool_count++];
	*t = (struct ar_answer_tool){ .wire_index = wire_index };
	return t;
}

struct ar_answer_tool *ar_out_tool_find(struct ar_answer *a, int64_t wire_index, struct ar_str key)
{
	for (size_t i = a->tool_count; i-- > 0;) {
		struct ar_answer_tool *t = &a->tools[i];

		if (wire_index != AR_OUT_NO_INDEX ? t->wire_index == wire_index
						  : key.len > 0 && ar_str_eq(t->key, key))
			return t;
	}
	return NULL;
}

void ar_out_tool_id(struct ar_answer *a, struct ar_answer_tool *t, struct ar_str id)
{
	if (t->id.len == 0 && id.len > 0 && charge(a, id.len))
		t->id = ar_arena_str(&a->arena, id);
}

void ar_out_announce(struct ar_answer *a, struct ar_answer_tool *t, struct ar_str name)
{
	uint32_t index = (uint32_t)(t - a->tools);

	if (t->announced || !charge(a, name.len))
		return;
	t->announced = true;
	if (t->id.len == 0)
		t->id = ar_arena_fmt(&a->arena, "call_%.*s_%u", AR_STR_ARG(a->answer_id), index);
	a->sink.on_tool(a->sink.owner, index, t->id, name);
}

void ar_out_args(struct ar_answer *a, struct ar_answer_tool *t, struct ar_json args)
{
	struct ar_str text = AR_STR("");

	if (ar_json_type(args) == AR_JSON_OBJECT) {
		ar_buf_clear(&a->scratch);
		ar_json_print(args, &a->scratch);
		text = ar_buf_str(&a->scratch);
	}
	ar_json_str(args, &text);
	if (text.len == 0)
		return;
	ar_out_announce(a, t, AR_STR(""));
	t->has_args = true;
	ar_out_put(a, AR_OUT_TOOL_ARGS, (uint32_t)(t - a->tools), text);
}

/* ---- facts about the answer ---- */

void ar_out_copy_first(struct ar_answer *a, struct ar_json v, struct ar_str *keep)
{
	struct ar_str text;

	if (keep->len == 0 && ar_json_str(v, &text) && text.len > 0)
		*keep = ar_arena_str(&a->arena, ar_str_utf8_prefix(text, NAME_MAX_BYTES));
}

void ar_out_count(struct ar_json v, int64_t *ret)
{
	int64_t n;

	if (ar_json_i64(v, &n) && n >= 0)
		*ret = n < COUNT_MAX ? n : COUNT_MAX;
}

void ar_out_stop(struct ar_answer *a, struct ar_str reason, const struct ar_out_word *words)
{
	for (; words && words->theirs; words++) {
		if (!ar_str_is(reason, words->theirs))
			continue;
		reason = ar_str_from(words->ours);
		break;
	}
	if (!ar_str_eq(a->result.stop_reason, reason) && charge(a, reason.len))
		a->result.stop_reason = ar_arena_str(&a->arena, ar_str_utf8_prefix(reason, NAME_MAX_BYTES));
}

void ar_out_echo(struct ar_answer *a, struct ar_str json)
{
	if (a->echo.len > 0)
		ar_buf_addc(&a->echo, ',');
	ar_buf_adds(&a->echo, json);
	/* Half of it would be worse than none: the provider checks what comes back. */
	if (a->echo.failed || a->thought.failed || a->signature.failed)
		ar_out_oversize(a);
}
