/* See term.h: what a tool is called with, in words. Tools that are not in the table are shown by their
 * name and the members of their arguments; nobody has to read JSON. Text of the model is foreign text. */
#include "term/term.h"
#include "diff.h"

#include <string.h>

#define TITLE_MAX 120 /* bytes of a member in a title */
#define GUTTER 6

/* ---- arguments ---- */

struct args {
	struct ar_json_parser *parser;
	struct ar_json doc;
};

static struct args open_args(struct ar_str text)
{
	struct args a = { .parser = ar_json_parser_new() };

	if (ar_json_parse(a.parser, text, &a.doc, NULL) != AR_OK)
		a.doc = (struct ar_json){ 0 };
	return a;
}

void ar_subject_member(struct ar_buf *to, struct ar_str args, const char *name)
{
	struct args a = open_args(args);

	ar_words_value(to, ar_json_get(a.doc, name));
	ar_json_parser_free(a.parser);
}

/* ---- titles ---- */

static const struct {
	const char *tool;
	const char *doing, *done;
	const char *members[2]; /* the first that is there names the object */
	bool is_look; /* one of many: needs no card of its own */
} rows[] = {
	{ "shell", "$", "$", { "command", "argv" }, false },
	{ "terminal_open", "$", "$", { "command", "argv" }, false },
	{ "read_file", "Read", "Read", { "path", NULL }, true },
	{ "list_files", "List", "Listed", { "path", NULL }, true },
	{ "find_files", "Find", "Searched", { "pattern", NULL }, true },
	{ "search_files", "Search", "Searched", { "pattern", NULL }, true },
	{ "write_file", "Write", "Wrote", { "path", NULL }, false },
	{ "edit_file", "Edit", "Edited", { "path", NULL }, false },
	{ "apply_patch", "Apply a patch", "Applied a patch", { NULL, NULL }, false },
	{ "git_status", "Read the git status", "Read the git status", { NULL, NULL }, true },
	{ "git_diff", "Read the git diff", "Read the git diff", { NULL, NULL }, true },
	{ "process_read", "Read the output of", "Read the output of", { "processId", NULL }, true },
	{ "process_write", "Write to", "Wrote to", { "processId", NULL }, false },
	{ "process_stop", "Stop", "Stopped", { "processId", NULL }, false },
	{ "spawn_agent", "Agent:", "Agent:", { "objective", NULL }, false },
	{ "send_input", "Tell an agent:", "Told an agent:", { "text", NULL }, false },
	{ "wait_agents", "Wait for agents", "Waited for agents", { NULL, NULL }, false },
	{ "close_agent", "End the agent", "Ended the agent", { "agent", NULL }, false },
};

static size_t find_row(struct ar_str tool)
{
	size_t i = 0;

	while (i < AR_ARRAY_LEN(rows) && !ar_str_is(tool, rows[i].tool))
		i++;
	return i;
}

static void add_object(struct ar_buf *to, struct ar_str args, const char *const *members)
{
	struct ar_buf text = { 0 };
	struct ar_str line;

	for (size_t i = 0; i < 2 && members[i] && !text.len; i++)
		ar_subject_member(&text, args, members[i]);
	if (text.len) {
		struct ar_str rest = ar_str_split(ar_buf_str(&text), '\n', &line);

		ar_buf_addc(to, ' ');
		ar_text_add(to, ar_str_utf8_prefix(line, TITLE_MAX));
		if (rest.len || line.len > TITLE_MAX)
			ar_buf_addz(to, " …");
	}
	ar_buf_fini(&text);
}

/* "name key: value, key: value" of a tool that is not ours. */
static void add_pairs(struct ar_buf *to, struct ar_str tool, struct ar_str args)
{
	struct args a = open_args(args);
	const char *before = " ";

	ar_text_add(to, tool);
	for (struct ar_json_iter it = ar_json_iter(a.doc); ar_json_next(&it);) {
		struct ar_buf value = { 0 };

		ar_words_value(&value, it.value);
		ar_buf_addz(to, before);
		ar_text_add(to, it.name);
		ar_buf_addz(to, ": ");
		ar_text_add(to, ar_str_utf8_prefix(ar_buf_str(&value), TITLE_MAX / 2));
		before = ", ";
		ar_buf_fini(&value);
	}
	ar_json_parser_free(a.parser);
}

bool ar_subject_is_look(struct ar_str tool)
{
	size_t i = find_row(tool);

	return i < AR_ARRAY_LEN(rows) && rows[i].is_look;
}

void ar_subject_title(struct ar_buf *to, struct ar_str tool, struct ar_str args, bool is_done)
{
	size_t i = find_row(tool);

	if (i == AR_ARRAY_LEN(rows)) {
		add_pairs(to, tool, args);
		return;
	}
	ar_buf_addz(to, is_done ? rows[i].done : rows[i].doing);
	add_object(to, args, rows[i].members);
}

/* ---- changes ---- */

static void add_numbered(struct ar_buf *to, const struct ar_diff_line *line, size_t first)
{
	static const char signs[] = { [AR_DIFF_SAME] = ' ', [AR_DIFF_GONE] = '-', [AR_DIFF_NEW] = '+' };

	if (line->kind != AR_DIFF_SAME)
		ar_text_style(to, line->kind == AR_DIFF_NEW ? AR_STYLE_GREEN : AR_STYLE_RED);
	if (first)
		ar_buf_addf(to, "%*zu %c ", GUTTER - 1, first + line->number, signs[line->kind]);
	else
		ar_buf_addf(to, "  %c ", signs[line->kind]);
	ar_text_add_code(to, line->text);
	ar_text_style(to, AR_STYLE_PLAIN);
	ar_buf_addc(to, '\n');
}

struct ar_subject_change ar_subject_diff(struct ar_buf *to, struct ar_str before, struct ar_str after,
					 size_t first)
{
	struct ar_subject_change change;
	struct ar_diff d;

	ar_diff(before, after, &d);
	for (size_t i = 0; i < d.count; i++)
		add_numbered(to, &d.lines[i], first);
	change = (struct ar_subject_change){ d.added, d.removed };
	ar_diff_fini(&d);
	return change;
}

/* ---- everything ---- */

static void add_lines(struct ar_buf *to, struct ar_str text, const char *before)
{
	struct ar_str line;

	while (text.len) {
		text = ar_str_split(text, '\n', &line);
		ar_buf_addz(to, before);
		ar_text_add_code(to, line);
		ar_buf_addc(to, '\n');
	}
}

static void add_member(struct ar_buf *to, struct ar_str name, struct ar_json v)
{
	struct ar_buf text = { 0 };

	ar_words_value(&text, v);
	ar_text_style(to, AR_STYLE_DIM);
	ar_buf_addz(to, "  ");
	ar_text_add(to, name);
	ar_text_style(to, AR_STYLE_PLAIN);
	if (memchr(ar_buf_str(&text).p, '\n', text.len)) {
		ar_buf_addz(to, ":\n");
		add_lines(to, ar_buf_str(&text), "    ");
	} else {
		ar_buf_addz(to, ": ");
		ar_text_add(to, ar_buf_str(&text));
		ar_buf_addc(to, '\n');
	}
	ar_buf_fini(&text);
}

/* The texts of an edit are compared; everything else is a member of its own. */
static bool is_compared(struct ar_str tool, struct ar_str name)
{
	return ar_str_is(tool, "edit_file") && (ar_str_is(name, "oldText") || ar_str_is(name, "newText"));
}

/* The title has all of it already. */
static bool is_in_title(struct ar_str tool, struct ar_str name, struct ar_json v)
{
	size_t i = find_row(tool);
	struct ar_str text;

	return i < AR_ARRAY_LEN(rows) && rows[i].members[0] && ar_str_is(name, rows[i].members[0]) &&
	       ar_json_str(v, &text) && text.len <= TITLE_MAX && !memchr(text.p, '\n', text.len);
}

void ar_subject_lines(struct ar_buf *to, struct ar_str tool, struct ar_str args)
{
	struct args a = open_args(args);
	struct ar_buf before = { 0 }, after = { 0 };

	for (struct ar_json_iter it = ar_json_iter(a.doc); ar_json_next(&it);) {
		if (!is_compared(tool, it.name) && !is_in_title(tool, it.name, it.value))
			add_member(to, it.name, it.value);
	}
	if (ar_str_is(tool, "edit_file")) {
		ar_subject_member(&before, args, "oldText");
		ar_subject_member(&after, args, "newText");
		ar_subject_diff(to, ar_buf_str(&before), ar_buf_str(&after), 0);
	}
	ar_buf_fini(&before);
	ar_buf_fini(&after);
	ar_json_parser_free(a.parser);
}
