/* See git_config.h. The text may be anybody's: it is taken line by line, and what is not understood is passed
 * over. */
#include "git_config.h"

#include "str.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (1 << 20)

static struct ar_str trimmed(struct ar_str s)
{
	return ar_str_trim(s, " \t\r");
}

static bool is_word(struct ar_str s, const char *word, size_t len)
{
	return s.len == len && strncasecmp(s.p, word, len) == 0;
}

/* Without quotes, escapes and comments. */
static struct ar_str value_of(struct ar_str raw, struct ar_arena *a)
{
	char *out = ar_arena_alloc(a, raw.len + 1);
	bool is_quoted = false;
	size_t n = 0;

	for (size_t i = 0; i < raw.len; i++) {
		char c = raw.p[i];

		if (c == '"') {
			is_quoted = !is_quoted;
			continue;
		}
		if (!is_quoted && (c == '#' || c == ';'))
			break;
		if (c == '\\' && i + 1 < raw.len)
			c = raw.p[++i];
		out[n++] = c;
	}
	return trimmed((struct ar_str){ out, n });
}

/* One `name = value`, and what stands in the brackets above it. */
struct setting {
	struct ar_str section, name, value;
};

/* What follows the bracket may stand on the same line. */
static struct ar_str after_section(struct ar_str line, struct ar_str *ret_section)
{
	struct ar_str head, rest = ar_str_split(ar_str_sub(line, 1, line.len), ']', &head);

	*ret_section = trimmed(head);
	return ar_str_absent(rest) ? (struct ar_str){ "", 0 } : trimmed(rest);
}

/* The next one of a text, which shrinks; false: there is none. `s` remembers the section. */
static bool next_setting(struct ar_str *text, struct setting *s)
{
	while (!ar_str_absent(*text)) {
		struct ar_str line, value;

		*text = ar_str_split(*text, '\n', &line);
		line = trimmed(line);
		if (line.len > 0 && line.p[0] == '[')
			line = after_section(line, &s->section);
		value = ar_str_split(line, '=', &s->name);
		if (ar_str_absent(value))
			continue;
		s->name = trimmed(s->name);
		s->value = trimmed(value);
		return true;
	}
	return false;
}

struct ar_str ar_git_hooks_path(struct ar_str text, struct ar_arena *a)
{
	struct ar_str found = AR_STR_NONE;
	struct setting s = { .section = AR_STR("") };

	while (next_setting(&text, &s)) {
		if (is_word(s.section, "core", 4) && is_word(s.name, "hookspath", 9))
			found = value_of(s.value, a);
	}
	return found;
}

/* The condition follows in the same brackets. */
static bool is_including(struct ar_str section)
{
	static const char word[] = "includeif";
	const size_t len = sizeof(word) - 1;

	if (is_word(section, "include", 7))
		return true;
	return section.len > len && strncasecmp(section.p, word, len) == 0 &&
	       strchr(" \t\".", section.p[len]);
}

void ar_git_includes(struct ar_str text, struct ar_arena *a, ar_git_each *each, void *ctx)
{
	struct setting s = { .section = AR_STR("") };

	while (next_setting(&text, &s)) {
		if (is_including(s.section) && is_word(s.name, "path", 4))
			each(ctx, value_of(s.value, a));
	}
}

struct ar_str ar_git_read(struct ar_str path, struct ar_arena *a)
{
	int fd = open(ar_arena_str(a, path).p, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct ar_str text = AR_STR_NONE;
	struct stat st;

	if (fd < 0)
		return text;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= FILE_MAX) {
		char *bytes = ar_arena_alloc(a, (size_t)st.st_size + 1);
		ssize_t n = pread(fd, bytes, (size_t)st.st_size, 0);

		if (n >= 0)
			text = (struct ar_str){ bytes, (size_t)n };
	}
	close(fd);
	return text;
}
