/* See exec_args.h. The schema was checked before: what is looked at here is what a schema cannot say. */
#include "exec_args.h"

#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define READ_WAIT_MS 30000 /* longest that process_read waits */

static struct ar_str text_of(struct ar_json args, const char *name, struct ar_arena *a)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(args, name), &text);
	return ar_arena_str(a, text);
}

static int64_t number_of(struct ar_json args, const char *name)
{
	int64_t n = 0;

	ar_json_i64(ar_json_get(args, name), &n);
	return n > 0 ? n : 0;
}

static bool flag_of(struct ar_json args, const char *name)
{
	bool is_set = false;

	ar_json_bool(ar_json_get(args, name), &is_set);
	return is_set;
}

static bool fail_args(const char **ret, const char *words)
{
	*ret = words;
	return false;
}

/* ---- what to run ---- */

static void add_arg(struct ar_exec_args *w, struct ar_str word)
{
	w->argv[w->argc++] = word;
}

/* The text is one argument; -- keeps it from being read as an option. */
static void shell_argv(struct ar_exec_args *w, struct ar_str text)
{
	bool has_bash = access("/bin/bash", X_OK) == 0;

	add_arg(w, has_bash ? AR_STR("/bin/bash") : AR_STR("/bin/sh"));
	if (has_bash) {
		add_arg(w, AR_STR("--noprofile"));
		add_arg(w, AR_STR("--norc"));
	}
	if (ar_str_absent(text))
		return;
	add_arg(w, AR_STR("-c"));
	add_arg(w, AR_STR("--"));
	add_arg(w, text);
}

/* For people only: nothing is run from it. */
static struct ar_str shown_argv(const struct ar_exec_args *w, struct ar_arena *a)
{
	struct ar_buf text = { 0 };
	struct ar_str shown;

	for (size_t i = 0; i < w->argc; i++) {
		bool is_plain = w->argv[i].len > 0 && !memchr(w->argv[i].p, ' ', w->argv[i].len);

		ar_buf_addz(&text, i ? " " : "");
		ar_buf_addz(&text, is_plain ? "" : "'");
		ar_buf_adds(&text, w->argv[i]);
		ar_buf_addz(&text, is_plain ? "" : "'");
	}
	shown = ar_arena_str(a, ar_buf_str(&text));
	ar_buf_fini(&text);
	return shown;
}

static bool read_argv(struct ar_json argv, struct ar_arena *a, struct ar_exec_args *w, const char **ret_fault)
{
	if (ar_json_len(argv) == 0 || ar_json_len(argv) > AR_EXEC_ARGV_MAX)
		return fail_args(ret_fault, "argv has 1 to 1024 words");
	for (struct ar_json_iter it = ar_json_iter(argv); ar_json_next(&it);) {
		struct ar_str word;

		if (!ar_json_str(it.value, &word))
			return fail_args(ret_fault, "argv is a list of texts");
		if (memchr(word.p, 0, word.len))
			return fail_args(ret_fault, "a word of argv has a NUL byte");
		add_arg(w, ar_arena_str(a, word));
	}
	w->command = shown_argv(w, a);
	return w->argv[0].len > 0 || fail_args(ret_fault, "argv begins with the program");
}

static bool read_cwd(struct ar_json args, struct ar_str workspace, struct ar_arena *a, struct ar_exec_args *w,
		     const char **ret_fault)
{
	w->cwd = text_of(args, "cwd", a);
	if (ar_str_empty(w->cwd)) {
		w->cwd = AR_STR_NONE;
		return true;
	}
	if (memchr(w->cwd.p, 0, w->cwd.len))
		return fail_args(ret_fault, "cwd has a NUL byte");
	if (w->cwd.p[0] != '/' && !ar_str_absent(workspace))
		w->cwd = ar_arena_fmt(a, "%.*s/%.*s", AR_STR_ARG(workspace), AR_STR_ARG(w->cwd));
	return (w->cwd.p[0] == '/' && w->cwd.len < PATH_BYTES) ||
	       fail_args(ret_fault, "cwd is not a valid directory; leave it out for the workspace");
}

static bool read_text(struct ar_json args, struct ar_arena *a, struct ar_exec_args *w, const char **ret_fault)
{
	w->command = text_of(args, "command", a);
	if (!ar_str_absent(w->command) && memchr(w->command.p, 0, w->command.len))
		return fail_args(ret_fault, "command has a NUL byte");
	return true;
}

bool ar_exec_read_command(struct ar_json args, struct ar_str workspace, struct ar_arena *a,
			  struct ar_exec_args *ret, const char **ret_fault)
{
	struct ar_json argv = ar_json_get(args, "argv");
	bool has_argv = ar_json_type(argv) == AR_JSON_ARRAY;

	if (!read_text(args, a, ret, ret_fault) || !read_cwd(args, workspace, a, ret, ret_fault))
		return false;
	if (has_argv != ar_str_empty(ret->command))
		return fail_args(ret_fault,
				 "set either command (a text for a shell) or argv (a list of words)");
	if (has_argv && !read_argv(argv, a, ret, ret_fault))
		return false;
	if (!has_argv)
		shell_argv(ret, ret->command);
	ret->input = text_of(args, "input", a);
	ret->justification = text_of(args, "justification", a);
	ret->timeout_ms = number_of(args, "timeoutMs");
	ret->is_background = flag_of(args, "background");
	return true;
}

bool ar_exec_read_terminal(struct ar_json args, struct ar_str workspace, struct ar_arena *a,
			   struct ar_exec_args *ret, const char **ret_fault)
{
	int64_t rows = number_of(args, "rows"), columns = number_of(args, "columns");

	if (!read_text(args, a, ret, ret_fault) || !read_cwd(args, workspace, a, ret, ret_fault))
		return false;
	shell_argv(ret, ar_str_empty(ret->command) ? AR_STR_NONE : ret->command);
	if (ar_str_empty(ret->command))
		ret->command = shown_argv(ret, a);
	ret->justification = text_of(args, "justification", a);
	ret->tty = ret->is_background = true;
	ret->rows = (uint16_t)(rows < 1000 ? rows : 1000);
	ret->columns = (uint16_t)(columns < 1000 ? columns : 1000);
	return true;
}

/* ---- what is wanted of one that runs ---- */

bool ar_exec_read_act(struct ar_json args, enum ar_tool_act_kind kind, struct ar_arena *a,
		      struct ar_exec_args *ret, const char **ret_fault)
{
	int64_t wait = number_of(args, "waitMs");

	ret->act = (struct ar_tool_act){ .kind = kind,
					 .process_id = text_of(args, "processId", a),
					 .bytes = text_of(args, "input", a),
					 .is_eof = flag_of(args, "eof"),
					 .offset = (uint64_t)number_of(args, "offset"),
					 .wait_ms = wait < READ_WAIT_MS ? wait : READ_WAIT_MS,
					 .signal = text_of(args, "signal", a),
					 .reason = AR_STR("the model asked for it") };
	if (ar_str_empty(ret->act.process_id))
		return fail_args(ret_fault, "processId is missing");
	if (kind == AR_TOOL_ACT_WRITE && ar_str_empty(ret->act.bytes) && !ret->act.is_eof)
		return fail_args(ret_fault, "input is empty; with eof the input is closed");
	return true;
}
