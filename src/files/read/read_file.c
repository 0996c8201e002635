/* read_file: lines of a text file with their numbers, or a picture as it is. Paths and fences are
 * workspace.c's. */
#include "base64.h"
#include "read/line_reader.h"
#include "mem.h"
#include "shown.h"
#include "work.h"
#include "workspace.h"

#include <string.h>
#include <unistd.h>

#define LINE_SHOWN ((size_t)2000)
#define IMAGE_MAX ((int64_t)3750 << 10) /* 5 MB as base64, what models take */

static const struct ar_files_arg args[] = {
	{ "path", "File to read, relative to the workspace, for example src/main.c.", AR_FILES_STR, true,
	  offsetof(struct ar_files_args, path), 1, AR_FILES_PATH_MAX, 0 },
	{ "offset", "Number of the first line wanted, counted from 1.", AR_FILES_INT, false,
	  offsetof(struct ar_files_args, offset), 1, INT32_MAX, 1 },
	{ "limit", "How many lines at most.", AR_FILES_INT, false, offsetof(struct ar_files_args, limit), 1,
	  100000, 2000 },
};

struct magic {
	const char *mime;
	struct ar_str head;
	struct ar_str at_eight; /* absent: nothing further is looked at */
};

static const struct magic magics[] = {
	{ "image/png", { "\x89PNG\r\n\x1a\n", 8 }, { NULL, 0 } },
	{ "image/jpeg", { "\xff\xd8\xff", 3 }, { NULL, 0 } },
	{ "image/gif", { "GIF8", 4 }, { NULL, 0 } },
	{ "image/webp", { "RIFF", 4 }, { "WEBP", 4 } },
};

static const char *image_mime(struct ar_str head)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(magics); i++) {
		const struct magic *m = &magics[i];

		if (ar_str_starts(head, m->head) &&
		    (ar_str_absent(m->at_eight) || ar_str_starts(ar_str_sub(head, 8, 4), m->at_eight)))
			return m->mime;
	}
	return NULL;
}

static void read_image(struct ar_files_work *w, int fd, int64_t size, const char *mime)
{
	AR_AUTO(ar_buf_fini) struct ar_buf bytes = { .cap = (size_t)IMAGE_MAX };
	char part[65536];
	ssize_t n = 0;
	off_t at = 0;

	while (size <= IMAGE_MAX && !bytes.failed && (n = pread(fd, part, sizeof(part), at)) > 0) {
		ar_buf_add(&bytes, part, (size_t)n);
		at += n;
	}
	if (size > IMAGE_MAX || bytes.failed || n < 0) {
		ar_files_fail(w, "too_large", "Ask the user for a smaller version of it.",
			      "The picture has %lld bytes; at most %lld can be shown.", (long long)size,
			      (long long)IMAGE_MAX);
		return;
	}
	w->image = (struct ar_tool_image){ ar_str_from(mime), ar_base64(&w->arena, ar_buf_str(&bytes)) };
	ar_buf_addf(&w->text, "(a picture, %s, %zu bytes)", mime, bytes.len);
}

static void add_line(struct ar_buf *out, const struct ar_line *line, int64_t number)
{
	struct ar_str text = line->text;

	if (number == 1 && ar_str_starts(text, AR_STR("\xef\xbb\xbf")))
		text = ar_str_sub(text, 3, text.len);
	struct ar_str shown = ar_str_utf8_prefix(text, LINE_SHOWN);

	ar_buf_addf(out, "%6lld\t", (long long)number);
	ar_shown_add_text(out, shown);
	if (line->is_cut)
		ar_buf_addf(out, " [line cut here; it has more than %zu bytes]", AR_LINE_MAX);
	else if (shown.len < text.len)
		ar_buf_addf(out, " [line cut here; it has %zu bytes]", text.len);
	ar_buf_addc(out, '\n');
}

/* Room for a line at its longest: every byte replaced, number and remark. */
#define LINE_ROOM (LINE_SHOWN * 3 + 100)

struct reading {
	int64_t number; /* of the last line seen */
	int64_t shown; /* lines */
	bool goes_on;
	bool has_cr;
};

static void read_lines(struct ar_files_work *w, struct ar_line_reader *r, struct reading *ret)
{
	struct ar_line line;

	while (ar_line_reader_next(r, &line)) {
		if (ret->shown == w->args.limit || !ar_files_fits(w, LINE_ROOM)) {
			ret->goes_on = true;
			return;
		}
		if (++ret->number < w->args.offset)
			continue;
		add_line(&w->text, &line, ret->number);
		ret->shown++;
		ret->has_cr = ret->has_cr || line.ends_with_cr;
	}
}

static void add_end(struct ar_files_work *w, const struct reading *seen, const struct ar_line_reader *r)
{
	if (seen->goes_on)
		ar_buf_addf(&w->text, "(the file continues; call read_file with offset=%lld for more)",
			    (long long)seen->number + 1);
	else if (r->has_failed)
		ar_buf_addz(&w->text, "(the rest of the file could not be read)");
	else if (seen->number == 0)
		ar_buf_addz(&w->text, "(the file is empty)");
	else
		ar_buf_addf(&w->text, "(end of file, %lld line%s)", (long long)seen->number,
			    seen->number == 1 ? "" : "s");
	if (seen->has_cr)
		ar_buf_addz(&w->text, " (lines end with CR LF)");
}

static void read_text(struct ar_files_work *w, struct ar_line_reader *r, struct ar_str path)
{
	struct reading seen = { 0 };

	read_lines(w, r, &seen);
	if (seen.shown == 0 && w->args.offset > 1 && !seen.goes_on) {
		ar_files_fail(w, "invalid_arguments", "Call read_file with a smaller offset.",
			      "'%s' has only %lld line%s.", ar_shown_path(&w->arena, path).p,
			      (long long)seen.number, seen.number == 1 ? "" : "s");
		return;
	}
	add_end(w, &seen, r);
}

static void run(struct ar_files_work *w)
{
	AR_AUTO(ar_workspace_closep) int root = ar_workspace_open(w);
	struct ar_str path = ar_workspace_path(w, w->args.path);
	struct stat st;
	AR_AUTO(ar_workspace_closep) int fd = root < 0 ? -1 : ar_workspace_open_file(w, root, path, &st);

	if (fd < 0)
		return;
	AR_AUTO(ar_line_reader_fini) struct ar_line_reader r;

	ar_line_reader_init(&r, w, fd);
	const char *mime = image_mime(ar_line_reader_ahead(&r));

	if (mime)
		read_image(w, fd, st.st_size, mime);
	else if (ar_line_reader_is_binary(&r))
		ar_files_fail(w, "binary_file", "Only text and pictures (PNG, JPEG, GIF, WebP) can be read.",
			      "'%s' is a binary file of %lld bytes.", ar_shown_path(&w->arena, path).p,
			      (long long)st.st_size);
	else
		read_text(w, &r, path);
}

const struct ar_files_kind ar_files_read_file = {
	.name = "read_file",
	.title = "Read a file",
	.is_idempotent = true,
	.description = "Reads a text file of the workspace and returns its lines, each with its number and a "
		       "tab before it (the number is "
		       "not part of the file). Long files come in parts: use offset and limit to go on where "
		       "the last answer ended. "
		       "Pictures (PNG, JPEG, GIF, WebP) are returned as pictures. Folders are listed with "
		       "list_files instead.",
	.args = args,
	.arg_count = AR_ARRAY_LEN(args),
	.run = run,
};
