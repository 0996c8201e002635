/* See question.h. Pure. */
#include "question.h"
#include "url.h"

#include <string.h>

#define URL_MAX 8192

static bool read_url(struct ar_arena *a, struct ar_json params, struct ar_tool_question *q)
{
	struct ar_str url;
	struct ar_url u;

	if (!ar_json_str(ar_json_get(params, "url"), &url) || url.len > URL_MAX)
		return false;
	/* It is shown to a person who will open it: nothing but a web page, and of the host that it seems to
	 * be of. */
	q->url = ar_arena_str(a, url);
	return !memchr(url.p, 0, url.len) && ar_url_parse(q->url.p, &u) && !u.has_user;
}

static bool read_schema(struct ar_arena *a, struct ar_json params, struct ar_tool_question *q)
{
	struct ar_json schema = ar_json_get(params, "requestedSchema");
	struct ar_buf text = { .cap = AR_TOOL_SCHEMA_MAX };
	bool good = ar_json_type(schema) == AR_JSON_OBJECT;

	if (good) {
		ar_json_print(schema, &text);
		good = !text.failed;
	}
	if (good)
		q->schema = ar_arena_str(a, ar_buf_str(&text));
	ar_buf_fini(&text);
	return good;
}

bool ar_mcp_question_read(struct ar_arena *a, struct ar_json params, struct ar_tool_question *ret)
{
	struct ar_tool_question q = { 0 };
	struct ar_str mode = AR_STR("form"), prompt = AR_STR("");

	ar_json_str(ar_json_get(params, "mode"), &mode);
	ar_json_str(ar_json_get(params, "message"), &prompt);
	q.prompt = ar_arena_str(a, ar_str_utf8_prefix(prompt, AR_MCP_PROMPT_MAX));
	if (ar_str_is(mode, "url") ? !read_url(a, params, &q)
				   : !ar_str_is(mode, "form") || !read_schema(a, params, &q))
		return false;
	*ret = q;
	return true;
}

/* Member names may come from the server: written as strings. */
static void add_member(struct ar_jw *w, struct ar_str name, struct ar_json value)
{
	ar_jw_str(w, name);
	ar_buf_addc(w->out, ':');
	ar_json_print(value, w->out);
	w->comma = true;
}

static bool has_member(struct ar_json object, struct ar_str name)
{
	for (struct ar_json_iter it = ar_json_iter(object); ar_json_next(&it);) {
		if (ar_str_eq(it.name, name))
			return true;
	}
	return false;
}

static void write_content(struct ar_jw *w, struct ar_json content, struct ar_json properties)
{
	if (ar_json_type(content) != AR_JSON_OBJECT)
		content = (struct ar_json){ 0 };
	ar_jw_open(w);
	for (struct ar_json_iter it = ar_json_iter(content); ar_json_next(&it);)
		add_member(w, it.name, it.value);
	for (struct ar_json_iter it = ar_json_iter(properties); ar_json_next(&it);) {
		struct ar_json value = ar_json_get(it.value, "default");

		if (ar_json_type(value) != AR_JSON_NONE && !has_member(content, it.name))
			add_member(w, it.name, value);
	}
	ar_jw_close(w);
}

/* One document for both: a parser has one at a time. */
static void write_form(struct ar_json_parser *p, const struct ar_tool_question *q, struct ar_str content,
		       struct ar_jw *w)
{
	struct ar_buf both = { 0 };
	struct ar_json root;

	ar_buf_addf(&both, "[%.*s,%.*s]", AR_STR_ARG(q->schema), AR_STR_ARG(content));
	if (ar_json_parse(p, ar_buf_str(&both), &root, NULL) != AR_OK)
		root = (struct ar_json){ 0 };
	write_content(w, ar_json_at(root, 1), ar_json_get(ar_json_at(root, 0), "properties"));
	ar_buf_fini(&both);
}

void ar_mcp_question_answer(struct ar_json_parser *p, const struct ar_tool_question *q,
			    const struct ar_tool_answer *answer, struct ar_buf *out)
{
	static const char *const actions[] = {
		[AR_TOOL_ANSWER_ACCEPT] = "accept",
		[AR_TOOL_ANSWER_DECLINE] = "decline",
		[AR_TOOL_ANSWER_CANCEL] = "cancel",
	};
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "action", ar_str_from(actions[answer->kind]));
	if (answer->kind == AR_TOOL_ANSWER_ACCEPT && !ar_str_absent(q->schema)) {
		ar_jw_key(&w, "content");
		write_form(p, q, answer->content.len > 0 ? answer->content : AR_STR("{}"), &w);
	}
	ar_jw_close(&w);
}
