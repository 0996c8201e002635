/* search_files: lines that match an expression, with lines around them. Which files are looked at is decided
 * here; the walk is walk.c's, matching pattern.c's, how a line is shown hits.c's. */
#include "read/hits.h"
#include "read/line_reader.h"
#include "mem.h"
#include "read/pattern.h"
#include "shown.h"
#include "read/walk.h"
#include "workspace.h"

#define FILE_BYTES_MAX ((uint64_t)64 << 20)
#define ALL_BYTES_MAX ((uint64_t)512 << 20)

static const struct ar_files_arg args[] = {
	{ "pattern",
	  "What to look for in each line: a regular expression (PCRE2), or plain text with literal=true.",
	  AR_FILES_STR, true, offsetof(struct ar_files_args, pattern), 1, AR_PATTERN_TEXT_MAX, 0 },
	{ "path", "Folder or file to search, relative to the workspace; left out: the workspace itself.",
	  AR_FILES_STR, false, offsetof(struct ar_files_args, path), 0, AR_FILES_PATH_MAX, 0 },
	{ "glob", "Search only files whose name matches this pattern, for example *.c or src/**/*.ts.",
	  AR_FILES_STR, false, offsetof(struct ar_files_args, glob), 0, AR_PATTERN_TEXT_MAX, 0 },
	{ "literal", "The pattern is plain text.", AR_FILES_BOOL, false,
	  offsetof(struct ar_files_args, literal), 0, 1, 0 },
	{ "ignore_case", "Upper and lower case are the same.", AR_FILES_BOOL, false,
	  offsetof(struct ar_files_args, ignore_case), 0, 1, 0 },
	{ "context", "How many lines to show before and after each match.", AR_FILES_INT, false,
	  offsetof(struct ar_files_args, context), 0, AR_HITS_CONTEXT_MAX, 0 },
	{ "limit", "How many matching lines at most.", AR_FILES_INT, false,
	  offsetof(struct ar_files_args, limit), 1, 1000, 100 },
};

struct search {
	struct ar_files_work *work;
	struct ar_pattern *pattern, *glob; /* glob NULL: every file */
	struct ar_hits hits;
	uint64_t bytes;
	size_t files, binary, unreadable, cut_files, cut_lines, given_up;
	bool is_full; /* enough was found */
	bool is_over; /* too much to look at */
};

static void search_lines(struct search *s, struct ar_line_reader *r)
{
	struct ar_line line;
	size_t from = 0;

	while (!s->is_full && ar_line_reader_next(r, &line)) {
		enum ar_pattern_found found = ar_pattern_find(s->pattern, line.text, &from);

		s->given_up += found == AR_PATTERN_GAVE_UP;
		s->cut_lines += line.is_cut;
		if (found == AR_PATTERN_YES &&
		    (s->hits.count == s->work->args.limit || !ar_hits_fit(&s->hits)))
			s->is_full = true;
		else
			ar_hits_line(&s->hits, line.text, found == AR_PATTERN_YES, from);
		if (r->bytes > FILE_BYTES_MAX) {
			s->cut_files++;
			return;
		}
		if (ar_files_is_over(s->work)) {
			s->is_over = true;
			return;
		}
	}
}

static void search_file(struct search *s, int fd, struct ar_str shown_path)
{
	AR_AUTO(ar_line_reader_fini) struct ar_line_reader r;

	ar_line_reader_init(&r, s->work, fd);
	if (ar_line_reader_is_binary(&r)) {
		s->binary++;
		return;
	}
	ar_hits_file(&s->hits, shown_path);
	search_lines(s, &r);
	s->files++;
	s->unreadable += r.has_failed;
	s->bytes += r.bytes;
	s->is_over = s->is_over || s->bytes > ALL_BYTES_MAX;
}

static struct ar_str join(struct ar_files_work *w, struct ar_str folder, struct ar_str path)
{
	struct ar_str parts[] = { folder, AR_STR("/"), path };

	return ar_str_is(folder, ".") ? path : ar_arena_join(&w->arena, parts, 3);
}

static void search_folder(struct search *s, int folder, struct ar_str path)
{
	AR_AUTO(ar_walk_fini)
	struct ar_walk k = {
		.work = s->work,
		.folder = folder,
		.max_depth = AR_WALK_DEPTH_MAX,
		.shows_hidden = true,
		.named = { path, s->work->args.glob },
	};
	struct ar_walk_entry e;
	struct stat st;
	size_t from;

	while (!s->is_full && !s->is_over && ar_walk_next(&k, &e)) {
		if (!S_ISREG(e.mode) ||
		    (s->glob && ar_pattern_find(s->glob, e.path, &from) != AR_PATTERN_YES))
			continue;
		AR_AUTO(ar_workspace_closep) int fd = ar_workspace_reopen_file(folder, e.path.p, &st);

		if (fd < 0)
			s->unreadable++;
		else
			search_file(s, fd, join(s->work, path, e.path));
	}
	s->unreadable += k.unreadable;
	s->is_over = s->is_over || k.is_cut;
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void add_remark(struct ar_buf *out, size_t count, const char *what)
{
	if (count > 0)
		ar_buf_addf(out, " (%zu %s)", count, what);
}

static void add_end(struct search *s)
{
	struct ar_buf *out = &s->work->text;
	size_t count = (size_t)s->hits.count;

	if (s->is_full)
		ar_buf_addf(out,
			    "(the first %zu match%s; there are more: use a narrower pattern, path or glob)",
			    count, count == 1 ? "" : "es");
	else if (count == 0)
		ar_buf_addf(out, "(no match in %zu file%s)", s->files, plural(s->files));
	else
		ar_buf_addf(out, "(%zu match%s in %zu of %zu file%s)", count, count == 1 ? "" : "es",
			    s->hits.files, s->files, plural(s->files));
	if (s->is_over)
		ar_buf_addz(
			out,
			" (not complete: there is too much to look at; name a folder in path or use glob)");
	add_remark(out, s->binary, "binary left out");
	add_remark(out, s->unreadable, "could not be read");
	add_remark(out, s->cut_files, "searched in their first 64 MiB only");
	add_remark(out, s->cut_lines, "long lines searched in their first 256 KiB only");
	add_remark(out, s->given_up, "lines where the expression took too long; use a simpler one");
}

static void search_path(struct search *s, int root, struct ar_str path)
{
	struct ar_files_work *w = s->work;
	struct stat st;

	if (!ar_workspace_stat(w, root, path, &st))
		return;
	AR_AUTO(ar_workspace_closep)
	int fd = S_ISDIR(st.st_mode) ? ar_workspace_open_folder(w, root, path)
				     : ar_workspace_open_file(w, root, path, &st);

	if (fd < 0)
		return;
	if (S_ISDIR(st.st_mode))
		search_folder(s, fd, path);
	else
		search_file(s, fd, path);
	add_end(s);
}

static struct ar_pattern *checked(struct ar_files_work *w, struct ar_pattern *p, const struct ar_error *err)
{
	if (!p)
		ar_files_fail(w, "invalid_arguments",
			      "Correct it, or use literal=true to look for plain text.",
			      "The pattern cannot be read: %s.", err->msg);
	return p;
}

static void run(struct ar_files_work *w)
{
	AR_AUTO(ar_workspace_closep) int root = ar_workspace_open(w);
	struct ar_error err = { 0 };
	unsigned flags = (w->args.literal ? AR_PATTERN_LITERAL : 0u) |
			 (w->args.ignore_case ? AR_PATTERN_IGNORE_CASE : 0u);

	if (root < 0)
		return;
	AR_AUTO(ar_pattern_freep)
	struct ar_pattern *pattern = checked(w, ar_pattern_new(w->args.pattern, flags, &err), &err);
	AR_AUTO(ar_pattern_freep) struct ar_pattern *glob = NULL;

	if (!ar_str_empty(w->args.glob))
		glob = checked(w, ar_pattern_new_glob(w->args.glob, &err), &err);
	if (ar_files_failed(w))
		return;
	struct search s = { .work = w, .pattern = pattern, .glob = glob, .hits = { .work = w } };

	search_path(&s, root, ar_workspace_path(w, w->args.path));
	ar_hits_fini(&s.hits);
}

const struct ar_files_kind ar_files_search_files = {
	.name = "search_files",
	.title = "Search in files",
	.is_idempotent = true,
	.description = "Searches the text files of the workspace line by line for a regular expression or "
		       "plain text, in the order of their "
		       "paths. The answer has the path of each file with matches, below it the matching "
		       "lines as number:text and lines "
		       "around them as number-text. The folders .git and node_modules are left out unless "
		       "path or glob names them; binary "
		       "files always.",
	.args = args,
	.arg_count = AR_ARRAY_LEN(args),
	.run = run,
};
