/* See mcp_file.h. */
#include "workspace/mcp_file.h"

#include "buf.h"
#include "json.h"
#include "tool.h"

#include <string.h>

#define LONG "too_large: a text of it is longer than 4 KiB"
#define TEXTS "invalid: arguments and variables are texts without a NUL character, at most 64 of each"
#define OVER_HTTP \
	"not_supported: a server over HTTP is not started from a workspace; name it in mcp_servers of the " \
	"settings"

/* One server while it is read; the first thing that is wrong stays. */
struct reading {
	struct ar_arena *arena;
	struct ar_texts variables; /* NAME=value, or NAME */
	const char *reason; /* a literal, or in the arena; NULL: nothing is wrong */
};

static void refuse(struct reading *r, const char *reason)
{
	if (!r->reason)
		r->reason = reason;
}

/* ---- variables ---- */

static bool is_name(struct ar_str name)
{
	if (name.len == 0 || name.len > AR_SERVER_NAME_MAX || (name.p[0] >= '0' && name.p[0] <= '9'))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
			return false;
	}
	return true;
}

/* False: the workspace has no such variable. An absent value: it has a secret. */
static bool find_variable(const struct reading *r, struct ar_str name, struct ar_str *ret)
{
	for (size_t i = 0; i < r->variables.count; i++) {
		struct ar_str own, value = ar_str_split(r->variables.at[i], '=', &own);

		if (!ar_str_eq(own, name))
			continue;
		*ret = value;
		return true;
	}
	return false;
}

/* `inside`: between the braces. */
static void replace(struct reading *r, struct ar_str inside, struct ar_buf *out)
{
	const char *mark = inside.len > 1 ? memmem(inside.p, inside.len, ":-", 2) : NULL;
	struct ar_str name = mark ? ar_str_sub(inside, 0, (size_t)(mark - inside.p)) : inside;
	struct ar_str value = AR_STR_NONE;

	if (!is_name(name))
		refuse(r, "invalid: ${...} has no name of a variable in it");
	else if (find_variable(r, name, &value) && ar_str_absent(value))
		refuse(r,
		       ar_arena_fmt(r->arena, "secret: variable %.*s has a secret, which servers do not get",
				    AR_STR_ARG(name))
			       .p);
	else if (!ar_str_absent(value) && (value.len > 0 || !mark))
		ar_buf_adds(out, value);
	else if (mark)
		ar_buf_adds(out, ar_str_sub(inside, name.len + 2, inside.len - name.len - 2));
	else
		refuse(r, ar_arena_fmt(
				  r->arena,
				  "unset: the workspace has no variable %.*s; set it, or write ${%.*s:-text}",
				  AR_STR_ARG(name), AR_STR_ARG(name))
				  .p);
}

static struct ar_str expand(struct reading *r, struct ar_str text)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	size_t at = 0;

	while (at < text.len && !r->reason) {
		struct ar_str rest = ar_str_sub(text, at, text.len - at);
		const char *end = ar_str_starts(rest, AR_STR("${")) ? memchr(rest.p, '}', rest.len) : NULL;

		if (end) {
			size_t len = (size_t)(end - rest.p);

			replace(r, ar_str_sub(rest, 2, len - 2), &out);
			at += len + 1;
		} else {
			ar_buf_addc(&out, text.p[at++]);
		}
		if (out.len > AR_SERVER_TEXT_MAX) /* a value may be repeated */
			refuse(r, LONG);
	}
	return ar_arena_str(r->arena, ar_buf_str(&out));
}

/* ---- members ---- */

static struct ar_str text_of(struct reading *r, struct ar_json v)
{
	struct ar_str text = AR_STR_NONE;

	if (!ar_json_str(v, &text) || (text.len > 0 && memchr(text.p, 0, text.len)))
		refuse(r, TEXTS);
	else if (text.len > AR_SERVER_TEXT_MAX)
		refuse(r, LONG);
	return r->reason ? AR_STR_NONE : expand(r, text);
}

static struct ar_texts words_of(struct reading *r, struct ar_json v)
{
	struct ar_str *at;
	size_t count = 0;

	if (ar_json_type(v) == AR_JSON_NONE)
		return (struct ar_texts){ 0 };
	if (ar_json_type(v) != AR_JSON_ARRAY || ar_json_len(v) > AR_SERVER_WORDS_MAX) {
		refuse(r, TEXTS);
		return (struct ar_texts){ 0 };
	}
	at = ar_arena_alloc(r->arena, (ar_json_len(v) + 1) * sizeof(*at));
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);)
		at[count++] = text_of(r, it.value);
	return (struct ar_texts){ at, count };
}

static struct ar_texts variables_of(struct reading *r, struct ar_json v)
{
	struct ar_str *at;
	size_t count = 0;

	if (ar_json_type(v) == AR_JSON_NONE)
		return (struct ar_texts){ 0 };
	if (ar_json_type(v) != AR_JSON_OBJECT || ar_json_len(v) > AR_SERVER_WORDS_MAX) {
		refuse(r, TEXTS);
		return (struct ar_texts){ 0 };
	}
	at = ar_arena_alloc(r->arena, (ar_json_len(v) + 1) * sizeof(*at));
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		struct ar_str value = text_of(r, it.value);

		if (!is_name(it.name))
			refuse(r,
			       "invalid: a variable has a name of another form than letters, digits and _");
		at[count++] = ar_arena_fmt(r->arena, "%.*s=%.*s", AR_STR_ARG(it.name), AR_STR_ARG(value));
	}
	return (struct ar_texts){ at, count };
}

/* ---- a server ---- */

static struct ar_server read_server(const struct reading *like, struct ar_str name, struct ar_json v)
{
	struct reading r = *like;
	struct ar_arena *a = r.arena;
	struct ar_server s = { .name = ar_arena_str(a, name) };
	bool has_command = ar_json_type(ar_json_get(v, "command")) != AR_JSON_NONE;
	bool has_url = ar_json_type(ar_json_get(v, "url")) != AR_JSON_NONE;

	if (has_command == has_url)
		refuse(&r, "invalid: it needs a command or a url, and only one of them");
	if (has_command)
		s.command = text_of(&r, ar_json_get(v, "command"));
	else if (has_url)
		s.url = text_of(&r, ar_json_get(v, "url"));
	s.args = words_of(&r, ar_json_get(v, "args"));
	s.env = variables_of(&r, ar_json_get(v, "env"));
	if (has_command && !r.reason && ar_str_empty(s.command))
		refuse(&r, "invalid: its command is empty");
	if (has_url)
		refuse(&r, OVER_HTTP);
	/* It is listed as what it would be, also if it cannot be used. */
	if (has_command && ar_str_absent(s.command))
		s.command = AR_STR("");
	s.reason = ar_str_from(r.reason);
	return s;
}

static const char *read_servers(const struct reading *like, struct ar_json list, struct ar_server *ret,
				size_t *ret_count)
{
	size_t count = 0;

	if (ar_json_type(list) != AR_JSON_OBJECT)
		return "invalid: it has no object mcpServers";
	if (ar_json_len(list) == 0)
		return "empty: it names no server";
	if (ar_json_len(list) > AR_SERVERS_MAX)
		return "too_large: it names more than 16 servers";
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);) {
		if (!ar_tool_is_name(it.name))
			return "invalid: a server has a name of another form than 1 to 64 letters, digits, _ "
			       "and -";
		for (size_t i = 0; i < count; i++) {
			if (ar_str_eq(ret[i].name, it.name))
				return "invalid: two servers have one name";
		}
		ret[count++] = read_server(like, it.name, it.value);
	}
	*ret_count = count;
	return NULL;
}

const char *ar_mcp_file_read(struct ar_str text, struct ar_texts variables, struct ar_arena *a,
			     struct ar_server *ret, size_t *ret_count)
{
	const struct reading like = { .arena = a, .variables = variables };
	struct ar_json_parser *parser = ar_json_parser_new();
	const char *reason = "invalid: it is not JSON";
	struct ar_json v;

	*ret_count = 0;
	if (ar_json_parse(parser, text, &v, NULL) == AR_OK)
		reason = read_servers(&like, ar_json_get(v, "mcpServers"), ret, ret_count);
	ar_json_parser_free(parser);
	return reason;
}
