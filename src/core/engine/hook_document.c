/* See hook_document.h. */
#include "hook_document.h"

#include "funnel.h"

static void add_text(struct ar_buf *out, struct ar_str text)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_str(&w, text);
}

/* Arguments as the model wrote them; those that are no JSON, or are none any more when
 * masked, appear as a text. */
static void add_json(struct ar_buf *out, struct ar_str text, struct ar_json_parser *json)
{
	struct ar_json v;

	if (ar_json_parse(json, text, &v, NULL) == AR_OK)
		ar_json_print(v, out);
	else
		add_text(out, text);
}

static void add_parts(struct ar_buf *out, struct ar_str text, struct ar_json_parser *json)
{
	struct ar_buf words = { 0 };
	struct ar_json v;

	if (ar_json_parse(json, text, &v, NULL) != AR_OK) {
		add_text(out, text);
		return;
	}
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		struct ar_str part;

		if (!ar_json_str(ar_json_get(it.value, "text"), &part))
			continue;
		if (words.len > 0)
			ar_buf_addc(&words, '\n');
		ar_buf_adds(&words, part);
	}
	add_text(out, ar_buf_str(&words));
	ar_buf_fini(&words);
}

void ar_hook_compose(const struct ar_hook_part *parts, size_t count, const struct ar_str *contents,
		     const struct ar_redactor *redactor, struct ar_json_parser *json, struct ar_buf *out)
{
	struct ar_funnel funnel = { .redactor = redactor };
	struct ar_arena arena = { 0 };
	size_t next = 0;

	for (size_t i = 0; i < count; i++) {
		struct ar_str text;

		if (ar_str_absent(parts[i].ref)) {
			ar_buf_adds(out, parts[i].literal);
			continue;
		}
		text = ar_funnel_text(&funnel, contents[next++], &arena);
		if (parts[i].form == AR_HOOK_JSON)
			add_json(out, text, json);
		else if (parts[i].form == AR_HOOK_PARTS)
			add_parts(out, text, json);
		else
			add_text(out, text);
	}
	ar_arena_fini(&arena);
}
