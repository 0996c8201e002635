/* See lines.h. */
#include "write/lines.h"

#include <string.h>

static size_t count_lines(struct ar_str text)
{
	size_t count = text.len > 0 && text.p[text.len - 1] != '\n';

	for (size_t i = 0; i < text.len; i++)
		count += text.p[i] == '\n';
	return count;
}

bool ar_lines_split(struct ar_arena *a, struct ar_str text, struct ar_lines *ret)
{
	size_t count = count_lines(text), n = 0;

	if (count > AR_LINES_MAX)
		return false;
	ret->at = ar_arena_alloc(a, (count + 1) * sizeof(*ret->at));
	ret->count = count;
	while (n < count) {
		const char *end = memchr(text.p, '\n', text.len);
		size_t len = end ? (size_t)(end - text.p) + 1 : text.len;

		ret->at[n++] = ar_str_sub(text, 0, len);
		text = ar_str_sub(text, len, text.len);
	}
	return true;
}

struct ar_str ar_line_bare(struct ar_str line)
{
	if (line.len > 0 && line.p[line.len - 1] == '\n')
		line.len--;
	if (line.len > 0 && line.p[line.len - 1] == '\r')
		line.len--;
	return line;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct ar_str ar_line_trimmed(struct ar_str line)
{
	while (line.len > 0 && is_blank(line.p[line.len - 1]))
		line.len--;
	while (line.len > 0 && is_blank(line.p[0]))
		line = ar_str_sub(line, 1, line.len);
	return line;
}

size_t ar_line_number(struct ar_str text, size_t offset)
{
	size_t number = 1;

	for (size_t i = 0; i < offset && i < text.len; i++)
		number += text.p[i] == '\n';
	return number;
}
