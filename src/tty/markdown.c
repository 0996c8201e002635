/* See markdown.h. Finds where a block ends; what it looks like is md_block.c's. An item of a list at the
 * left edge is a block of its own, so that a long list comes out item by item. */
#include "markdown.h"

#include <ctype.h>
#include <string.h>

#define OPEN_MAX ((size_t)2 * 1024) /* bytes of an open block that are shown */
#define BLOCK_MAX ((size_t)32 * 1024) /* a longer one is cut: it is parsed again for every frame */

/* ---- lines ---- */

static size_t indent_of(struct ar_str line)
{
	size_t n = 0;

	while (n < line.len && line.p[n] == ' ')
		n++;
	return n < line.len && line.p[n] == '\t' ? n + 4 : n;
}

static bool is_blank(struct ar_str line)
{
	return ar_str_empty(ar_str_trim(line, " \t\r"));
}

/* The characters that a code block is opened with; empty: the line opens none. */
static struct ar_str fence_of(struct ar_str line)
{
	size_t indent = indent_of(line), len = indent;
	char c = indent < line.len ? line.p[indent] : ' ';

	if (indent > 3 || (c != '`' && c != '~'))
		return AR_STR("");
	while (len < line.len && line.p[len] == c)
		len++;
	if (len - indent < 3 || (c == '`' && memchr(line.p + len, '`', line.len - len)))
		return AR_STR("");
	return ar_str_sub(line, indent, len - indent);
}

static bool is_heading(struct ar_str line)
{
	size_t n = 0;

	while (n < line.len && line.p[n] == '#')
		n++;
	return n >= 1 && n <= 6 && n < line.len && line.p[n] == ' ';
}

/* An item at the left edge. */
static bool is_item(struct ar_str line)
{
	size_t n = 0;

	if (line.len >= 2 && strchr("-*+", line.p[0]) && line.p[0])
		return line.p[1] == ' ';
	while (n < line.len && n < 9 && isdigit((unsigned char)line.p[n]))
		n++;
	return n && n + 1 < line.len && (line.p[n] == '.' || line.p[n] == ')') && line.p[n + 1] == ' ';
}

/* ---- where the first block ends ---- */

/* Whether a line begins another block than the one before it. */
static bool begins_block(struct ar_str line, bool in_item, bool is_after_blank)
{
	if (fence_of(line).len && (!in_item || indent_of(line) < 2))
		return true;
	if (is_heading(line) || is_item(line))
		return true;
	return is_after_blank && (!in_item || indent_of(line) < 2);
}

/* Bytes of the block that the text begins with; 0: it is not known to be complete. */
static size_t block_len(struct ar_str text)
{
	struct ar_str rest, line;
	bool in_item, is_after_blank = false;

	if (!memchr(text.p, '\n', text.len))
		return 0;
	rest = ar_str_split(text, '\n', &line);
	in_item = is_item(line);
	if (is_heading(line))
		return line.len + 1;
	while (rest.len) {
		size_t at = (size_t)(rest.p - text.p);

		if (!memchr(rest.p, '\n', rest.len))
			return 0;
		rest = ar_str_split(rest, '\n', &line);
		if (is_blank(line) && !in_item)
			return at;
		if (!is_blank(line) && begins_block(line, in_item, is_after_blank))
			return at;
		is_after_blank = is_blank(line);
	}
	return 0;
}

/* ---- output ---- */

static void print(struct ar_md *m, const struct ar_md_out *out, struct ar_str line, bool is_whole)
{
	if (m->has_gap && m->is_begun)
		out->line(out->arg, AR_STR(""), false);
	m->has_gap = false;
	m->is_begun = true;
	out->line(out->arg, line, is_whole);
}

static void print_block(struct ar_md *m, const struct ar_md_out *out, struct ar_str text)
{
	if (m->has_gap && m->is_begun)
		out->line(out->arg, AR_STR(""), false);
	m->has_gap = ar_str_ends(text, AR_STR("\n\n"));
	m->is_begun = true;
	ar_md_block(text, out);
}

static void print_fence(struct ar_md *m, const struct ar_md_out *out, struct ar_str line)
{
	struct ar_buf styled = { 0 };

	ar_text_add_styled(&styled, AR_STYLE_DIM, ar_str_trim(line, " \r"));
	print(m, out, ar_buf_str(&styled), true);
	ar_buf_fini(&styled);
}

/* Without the indent that the opening had, and without the end that some systems add. */
static struct ar_str code_of(const struct ar_md *m, struct ar_str line)
{
	size_t n = 0;

	while (n < m->fence_indent && n < line.len && line.p[n] == ' ')
		n++;
	line = ar_str_sub(line, n, line.len);
	return ar_str_ends(line, AR_STR("\r")) ? ar_str_sub(line, 0, line.len - 1) : line;
}

static void print_code(struct ar_md *m, const struct ar_md_out *out, struct ar_str line)
{
	struct ar_buf styled = { 0 };

	ar_lexer_line(&m->lexer, code_of(m, line), &styled);
	print(m, out, ar_buf_str(&styled), true);
	ar_buf_fini(&styled);
}

/* ---- feeding ---- */

static void open_fence(struct ar_md *m, struct ar_str fence, struct ar_str line)
{
	m->fence_indent = indent_of(line);
	m->lexer = ar_lexer(ar_str_sub(line, m->fence_indent + fence.len, line.len));
	ar_buf_adds(&m->fence, fence);
}

static bool closes_fence(const struct ar_md *m, struct ar_str line)
{
	struct ar_str fence = fence_of(line);

	return fence.len >= m->fence.len && fence.p[0] == m->fence.p[0] &&
	       ar_str_trim(line, " \t\r").len == fence.len;
}

static void feed_code(struct ar_md *m, struct ar_str line, const struct ar_md_out *out)
{
	if (!closes_fence(m, line)) {
		print_code(m, out, line);
		return;
	}
	print_fence(m, out, line);
	ar_buf_clear(&m->fence);
}

/* One step: a line of code, an empty line, the opening of code, or a block. Returns the bytes it used. */
static size_t feed_step(struct ar_md *m, const struct ar_md_out *out)
{
	struct ar_str text = ar_buf_str(&m->text), line, fence;
	bool has_line = text.len && memchr(text.p, '\n', text.len);
	size_t len;

	ar_str_split(text, '\n', &line);
	if (has_line && m->fence.len) {
		feed_code(m, line, out);
		return line.len + 1;
	}
	if (has_line && is_blank(line)) {
		m->has_gap = true;
		return line.len + 1;
	}
	fence = has_line ? fence_of(line) : AR_STR("");
	if (fence.len) {
		print_fence(m, out, line);
		open_fence(m, fence, line);
		return line.len + 1;
	}
	len = m->fence.len ? 0 : has_line ? block_len(text) : 0;
	if (!len && text.len > BLOCK_MAX)
		len = ar_str_utf8_prefix(text, BLOCK_MAX).len;
	if (len && m->fence.len)
		print_code(m, out, ar_str_sub(text, 0, len));
	else if (len)
		print_block(m, out, ar_str_sub(text, 0, len));
	return len;
}

void ar_md_feed(struct ar_md *m, struct ar_str text, const struct ar_md_out *out)
{
	size_t used;

	ar_buf_adds(&m->text, text);
	while (m->text.len && (used = feed_step(m, out)))
		ar_buf_eat(&m->text, used < m->text.len ? used : m->text.len);
}

void ar_md_end(struct ar_md *m, const struct ar_md_out *out)
{
	if (m->text.len)
		ar_md_feed(m, AR_STR("\n"), out);
	if (m->text.len)
		print_block(m, out, ar_buf_str(&m->text));
	ar_buf_clear(&m->text);
	ar_buf_clear(&m->fence);
	m->is_begun = m->has_gap = false;
}

/* Of a long block only the end is looked at, again for every frame: its beginning is out of sight. */
static struct ar_str last_part(struct ar_str text)
{
	size_t at = text.len > OPEN_MAX ? text.len - OPEN_MAX : 0;

	while (at && at < text.len && text.p[at - 1] != ' ' && text.p[at - 1] != '\n')
		at++;
	return at < text.len ? ar_str_sub(text, at, text.len) : text;
}

void ar_md_show_open(const struct ar_md *m, const struct ar_md_out *out)
{
	struct ar_md copy = { .lexer = m->lexer,
			      .fence = m->fence,
			      .fence_indent = m->fence_indent,
			      .is_begun = m->is_begun,
			      .has_gap = m->has_gap };

	if (!m->text.len)
		return;
	if (m->fence.len)
		print_code(&copy, out, ar_buf_str(&m->text));
	else
		print_block(&copy, out, last_part(ar_buf_str(&m->text)));
}

void ar_md_fini(struct ar_md *m)
{
	ar_buf_fini(&m->text);
	ar_buf_fini(&m->fence);
}
