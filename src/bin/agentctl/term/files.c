/* See term.h: names for completion. Sandboxed commands may write the folder: no link is followed,
 * nothing is opened but folders, git is not run, and the walk has limits. What a build or a package
 * manager puts there is left out, and what the folder's own .gitignore names in the simplest form. */
#include "term/term.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH 12
#define ENTRIES_MAX 20000
#define IGNORE_MAX 65536

struct walk {
	struct ar_str word;
	struct ar_buf good, fair; /* names with the word in it; with its letters in order */
	size_t good_count, most, entries;
	struct ar_buf ignored; /* lines of .gitignore */
	char path[4096];
};

static const char *const left_out[] = { "node_modules", "target", "__pycache__", "build", "dist", "vendor" };

/* Lines such as "build/" or "*.o"; others are not understood and ignore nothing. */
static bool is_ignored(const struct walk *w, struct ar_str name)
{
	struct ar_str rest = ar_buf_str(&w->ignored), line;

	for (size_t i = 0; i < AR_ARRAY_LEN(left_out); i++) {
		if (ar_str_is(name, left_out[i]))
			return true;
	}
	while (rest.len) {
		rest = ar_str_split(rest, '\n', &line);
		line = ar_str_trim(line, " \r/");
		if (ar_str_starts(line, AR_STR("*.")) ? ar_str_ends(name, ar_str_sub(line, 1, line.len))
						      : line.len && ar_str_eq(line, name))
			return true;
	}
	return false;
}

static void read_ignored(int folder, struct ar_buf *to)
{
	int fd = openat(folder, ".gitignore", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	char bytes[4096];
	ssize_t n;

	to->cap = IGNORE_MAX;
	if (fd < 0)
		return;
	while (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !to->failed &&
	       (n = read(fd, bytes, sizeof(bytes))) > 0)
		ar_buf_add(to, bytes, (size_t)n);
	close(fd);
}

/* ---- matching ---- */

static char lower(char c)
{
	return (char)tolower((unsigned char)c);
}

static bool has_word(struct ar_str path, struct ar_str word)
{
	for (size_t at = 0; at + word.len <= path.len; at++) {
		size_t i = 0;

		while (i < word.len && lower(path.p[at + i]) == lower(word.p[i]))
			i++;
		if (i == word.len)
			return true;
	}
	return false;
}

static bool has_letters(struct ar_str path, struct ar_str word)
{
	size_t i = 0;

	for (size_t at = 0; at < path.len && i < word.len; at++)
		i += lower(path.p[at]) == lower(word.p[i]);
	return i == word.len;
}

static void add_file(struct walk *w, struct ar_str path)
{
	struct ar_buf *to = has_word(path, w->word) ? &w->good : has_letters(path, w->word) ? &w->fair : NULL;

	if (!to || memchr(path.p, '\n', path.len) || !ar_str_is_utf8(path))
		return;
	w->good_count += to == &w->good;
	ar_buf_adds(to, path);
	ar_buf_addc(to, '\n');
}

/* ---- walking ---- */

static void walk_folder(struct walk *w, int fd, size_t len, int depth);

static void visit(struct walk *w, DIR *dir, const struct dirent *d, size_t len, int depth)
{
	struct ar_str name = ar_str_from(d->d_name);
	struct stat st;

	if (name.p[0] == '.' || is_ignored(w, name) || len + name.len + 2 > sizeof(w->path) ||
	    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	memcpy(w->path + len, name.p, name.len);
	len += name.len;
	if (S_ISREG(st.st_mode)) {
		add_file(w, (struct ar_str){ w->path, len });
	} else if (S_ISDIR(st.st_mode) && depth < DEPTH) {
		int fd = openat(dirfd(dir), d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		w->path[len] = '/';
		if (fd >= 0)
			walk_folder(w, fd, len + 1, depth + 1);
	}
}

static void walk_folder(struct walk *w, int fd, size_t len, int depth)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *d;

	if (!dir) {
		close(fd);
		return;
	}
	while (w->good_count < w->most && w->entries++ < ENTRIES_MAX && (d = readdir(dir)))
		visit(w, dir, d, len, depth);
	closedir(dir);
}

static size_t add_lines(struct ar_buf *to, struct ar_str lines, size_t most)
{
	struct ar_str line;
	size_t count = 0;

	for (; lines.len && count < most; count++) {
		lines = ar_str_split(lines, '\n', &line);
		ar_buf_adds(to, line);
		ar_buf_addc(to, '\n');
	}
	return count;
}

void ar_files_match(struct ar_str word, size_t most, struct ar_buf *to)
{
	struct walk w = { .word = word, .most = most };
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t count;

	if (fd < 0)
		return;
	read_ignored(fd, &w.ignored);
	walk_folder(&w, fd, 0, 0);
	count = add_lines(to, ar_buf_str(&w.good), most);
	add_lines(to, ar_buf_str(&w.fair), most - count);
	ar_buf_fini(&w.good);
	ar_buf_fini(&w.fair);
	ar_buf_fini(&w.ignored);
}
