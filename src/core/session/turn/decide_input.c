/* What a person says to a turn: checked, with its first words for titles and lists. Pure. */
#include "decide.h"

#define PREVIEW_MAX 120
#define INPUT_PARTS_MAX 64

/* The words of the input, for titles and lists: the text parts, up to a length. */
static struct ar_str preview_of(struct ar_decision *d, struct ar_json parts)
{
	struct ar_buf words = { .cap = PREVIEW_MAX * 4 };
	struct ar_str preview;

	for (struct ar_json_iter it = ar_json_iter(parts); ar_json_next(&it) && words.len < PREVIEW_MAX;) {
		struct ar_str text = AR_STR_NONE;

		if (!ar_json_str(ar_json_get(it.value, "text"), &text))
			continue;
		if (words.len > 0)
			ar_buf_addc(&words, ' ');
		ar_buf_adds(&words, ar_str_utf8_prefix(text, PREVIEW_MAX));
	}
	preview = ar_arena_str(d->arena, ar_str_utf8_prefix(ar_buf_str(&words), PREVIEW_MAX));
	ar_buf_fini(&words);
	return preview;
}

static bool has_text(struct ar_json part, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	return ar_json_str(ar_json_get(part, name), &text) && !ar_str_empty(text);
}

static enum ar_status check_part(struct ar_json part, bool *is_image, struct ar_error *err)
{
	struct ar_str type = AR_STR_NONE, text;

	ar_json_str(ar_json_get(part, "type"), &type);
	*is_image = ar_str_is(type, "image");
	if (*is_image && !has_text(part, "url") && !(has_text(part, "data") && has_text(part, "mimeType")))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "an image part needs 'url', or 'data' (base64) and 'mimeType'");
	if (*is_image)
		return AR_OK;
	if (!ar_str_is(type, "text"))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "input part of type '%.*s': only text and image are supported",
				 AR_STR_ARG(type));
	if (!ar_json_str(ar_json_get(part, "text"), &text))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "a text part needs a string member 'text'");
	return AR_OK;
}

struct ar_str ar_decide_text_parts(struct ar_decision *d, struct ar_str text)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open_array(&w);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "type", AR_STR("text"));
	ar_jw_mstr(&w, "text", text);
	ar_jw_close(&w);
	ar_jw_close_array(&w);
	return ar_decide_json_end(d);
}

enum ar_status ar_decide_input(struct ar_decision *d, struct ar_str input, struct ar_str text,
			       struct ar_turn_input *ret, struct ar_error *err)
{
	struct ar_json parts;

	*ret = (struct ar_turn_input){ .parts = input };
	if (!ar_str_absent(text) && ar_str_absent(input))
		ret->parts = ar_decide_text_parts(d, text);
	if (ar_str_absent(ret->parts) || ar_json_parse(d->json, ret->parts, &parts, err) != AR_OK ||
	    ar_json_len(parts) == 0)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "a turn needs 'input' (array of parts) or 'text'");
	if (ar_json_len(parts) > INPUT_PARTS_MAX)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "at most %d input parts", INPUT_PARTS_MAX);
	for (struct ar_json_iter it = ar_json_iter(parts); ar_json_next(&it);) {
		bool is_image;

		if (check_part(it.value, &is_image, err) != AR_OK)
			return AR_E_REFUSED;
		ret->has_images |= is_image;
	}
	ret->preview = preview_of(d, parts);
	return AR_OK;
}
