/* See acp.h: tool calls. What a call is about comes from its stored arguments; its files from the facts of
 * the changes, so that an editor shows them as they were and as they are. */
#include "acp/acp.h"
#include "term/term.h"

#define INPUT_MAX ((size_t)64 << 10) /* bytes of arguments that are shown */

/* ---- what is remembered ---- */

static struct ar_acp_call *find_call(struct ar_acp_session *s, struct ar_str id)
{
	for (size_t i = 0; i < AR_ACP_CALLS; i++) {
		if (s->calls[i].id.len && ar_str_eq(ar_buf_str(&s->calls[i].id), id))
			return &s->calls[i];
	}
	return NULL;
}

static void set(struct ar_buf *b, struct ar_str value)
{
	ar_buf_clear(b);
	ar_buf_adds(b, value);
}

static void read_args(struct ar_acp *a, struct ar_json payload, struct ar_buf *to)
{
	struct ar_json args = ar_json_get(payload, "safeArgs");

	ar_buf_clear(to);
	if (ar_json_type(args) == AR_JSON_OBJECT)
		ar_json_print(args, to);
	else
		(void)ar_acp_content(a, ar_api_str(payload, "inputRef"), AR_ACP_TEXT_MAX, to);
}

/* ---- members ---- */

static const struct {
	const char *tool, *kind;
} kinds[] = {
	{ "shell", "execute" },		{ "terminal_open", "execute" }, { "process_read", "read" },
	{ "process_write", "execute" }, { "process_stop", "execute" },	{ "read_file", "read" },
	{ "list_files", "read" },	{ "git_status", "read" },	{ "git_diff", "read" },
	{ "find_files", "search" },	{ "search_files", "search" },	{ "write_file", "edit" },
	{ "edit_file", "edit" },	{ "apply_patch", "edit" },
};

static const char *kind_of(struct ar_str tool)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		if (ar_str_is(tool, kinds[i].tool))
			return kinds[i].kind;
	}
	return "other";
}

void ar_acp_path(struct ar_acp_session *s, struct ar_jw *w, struct ar_str path)
{
	struct ar_str parts[] = { ar_buf_str(&s->cwd), AR_STR("/"), path };

	ar_jw_mstr(w, "path",
		   ar_str_starts(path, AR_STR("/"))
			   ? path
			   : ar_arena_join(&s->acp->ctl->arena, parts, AR_ARRAY_LEN(parts)));
}

static void add_location(struct ar_acp_session *s, struct ar_jw *w, struct ar_str path)
{
	if (ar_str_empty(path))
		return;
	ar_jw_key(w, "locations");
	ar_jw_open_array(w);
	ar_jw_open(w);
	ar_acp_path(s, w, path);
	ar_jw_close(w);
	ar_jw_close_array(w);
}

static void add_title(struct ar_jw *w, struct ar_str name, struct ar_str args)
{
	struct ar_buf title = { 0 };

	ar_subject_title(&title, name, args, false);
	ar_jw_mstr(w, "title", ar_str_utf8_prefix(ar_buf_str(&title), 256));
	ar_buf_fini(&title);
}

void ar_acp_call_members(struct ar_acp_session *s, struct ar_jw *w, struct ar_str name, struct ar_str args)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc;

	if (ar_json_parse(parser, args, &doc, NULL) != AR_OK || ar_json_type(doc) != AR_JSON_OBJECT)
		doc = (struct ar_json){ 0 };
	add_title(w, name, args);
	ar_jw_mstr(w, "name", name);
	ar_jw_mstr(w, "kind", ar_str_from(kind_of(name)));
	if (!ar_str_is(ar_str_from(kind_of(name)), "other"))
		add_location(s, w, ar_api_str(doc, "path"));
	if (ar_json_type(doc) == AR_JSON_OBJECT && args.len <= INPUT_MAX)
		ar_jw_mraw(w, "rawInput", args);
	ar_json_parser_free(parser);
}

void ar_acp_text_content(struct ar_jw *w, struct ar_str text)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("content"));
	ar_jw_key(w, "content");
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("text"));
	ar_jw_mstr(w, "text", text);
	ar_jw_close(w);
	ar_jw_close(w);
}

/* ---- the plan ---- */

static void add_entry(void *arg, struct ar_str name, enum ar_words_step step)
{
	static const char *const words[] = { [AR_WORDS_OPEN] = "pending",
					     [AR_WORDS_NOW] = "in_progress",
					     [AR_WORDS_DONE] = "completed",
					     [AR_WORDS_LEFT] = "completed" };
	struct ar_jw *w = arg;

	ar_jw_open(w);
	ar_jw_mstr(w, "content", name);
	ar_jw_mstr(w, "priority", AR_STR("medium"));
	ar_jw_mstr(w, "status", ar_str_from(words[step]));
	ar_jw_close(w);
}

/* A list of steps is the plan, whatever tool has it. */
static void show_plan(struct ar_acp_session *s, struct ar_str args)
{
	struct ar_buf entries = { 0 };
	struct ar_jw inner = ar_jw(&entries), w;

	ar_jw_open_array(&inner);
	if (ar_words_each_step(args, add_entry, &inner)) {
		ar_jw_close_array(&inner);
		w = ar_acp_update(s, "plan");
		ar_jw_mraw(&w, "entries", ar_buf_str(&entries));
		ar_acp_end_update(s, &w);
	}
	ar_buf_fini(&entries);
}

/* ---- events ---- */

void ar_acp_call_started(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_json payload = ar_json_get(event, "payload");
	struct ar_str id = ar_api_str(event, "toolCallId");
	struct ar_acp_call *call = find_call(s, id);
	bool is_new = !call;
	struct ar_jw w;

	if (s->is_silent)
		return;
	if (!call)
		call = &s->calls[s->call_count++ % AR_ACP_CALLS];
	set(&call->id, id);
	set(&call->name, ar_api_str(payload, "toolName"));
	read_args(s->acp, payload, &call->args);
	call->file_count = 0;
	w = ar_acp_update(s, is_new ? "tool_call" : "tool_call_update");
	ar_jw_mstr(&w, "toolCallId", id);
	ar_jw_mstr(&w, "status", AR_STR("in_progress"));
	ar_acp_call_members(s, &w, ar_buf_str(&call->name), ar_buf_str(&call->args));
	ar_acp_end_update(s, &w);
	show_plan(s, ar_buf_str(&call->args));
	ar_acp_tool_call(s, event, ar_buf_str(&call->args));
}

void ar_acp_call_changed(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_json payload = ar_json_get(event, "payload");
	struct ar_acp_call *call = find_call(s, ar_api_str(event, "toolCallId"));

	if (!call || call->file_count == AR_ACP_FILES || !ar_str_is(ar_api_str(payload, "kind"), "file"))
		return;
	set(&call->files[call->file_count].path, ar_api_str(payload, "path"));
	set(&call->files[call->file_count++].ref, ar_api_str(payload, "readRef"));
}

/* The sentence of a failure is for the model; people read it too. */
static void read_result(struct ar_acp *a, struct ar_json payload, struct ar_buf *to)
{
	static const char *const refs[] = { "answerRef", "outputRef", "errorRef", "partialOutputRef" };

	for (size_t i = 0; i < AR_ARRAY_LEN(refs) && !to->len; i++)
		(void)ar_acp_content(a, ar_api_str(payload, refs[i]), AR_ACP_TEXT_MAX, to);
	if (!to->len)
		ar_buf_adds(to, ar_api_str(payload, "preview"));
	if (!to->len)
		ar_buf_adds(to, ar_api_str(payload, "recoveryAdvice"));
}

void ar_acp_call_ended(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_json payload = ar_json_get(event, "payload");
	struct ar_acp_call *call = find_call(s, ar_api_str(event, "toolCallId"));
	bool is_good = ar_str_is(ar_api_str(event, "type"), "tool.result");
	struct ar_buf text = { 0 }, changes = { 0 }, content = { 0 };
	struct ar_jw inner = ar_jw(&content), w;

	ar_acp_tool_ended(s, ar_api_str(event, "toolCallId"));
	if (s->is_silent)
		return;
	ar_jw_open_array(&inner);
	if (!call || !ar_acp_content(s->acp, ar_api_str(payload, "changesRef"), AR_ACP_TEXT_MAX, &changes) ||
	    !ar_acp_diffs(s, &inner, call, ar_buf_str(&changes))) {
		read_result(s->acp, payload, &text);
		ar_acp_text_content(&inner, ar_buf_str(&text));
	}
	ar_jw_close_array(&inner);
	w = ar_acp_update(s, "tool_call_update");
	ar_jw_mstr(&w, "toolCallId", ar_api_str(event, "toolCallId"));
	ar_jw_mstr(&w, "status", is_good ? AR_STR("completed") : AR_STR("failed"));
	ar_jw_mraw(&w, "content", ar_buf_str(&content));
	ar_acp_end_update(s, &w);
	ar_buf_fini(&text);
	ar_buf_fini(&changes);
	ar_buf_fini(&content);
}
