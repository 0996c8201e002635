/* See term.h: `agentctl/history` in XDG_STATE_HOME, a text per line, a line break in it as \n. Several
 * conversations add to it at once; one that begins shortens it if it has grown. A file that others can
 * read or write is neither read nor written, and no link is followed to it. */
#include "daemon.h"
#include "io/descriptor.h"
#include "term/term.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX ((size_t)512 * 1024) /* more than that is shortened to the texts that are kept */
#define READ_MAX ((size_t)4 * 1024 * 1024) /* of a file that has grown beyond all bounds its beginning */
#define TEXT_MAX ((size_t)8 * 1024) /* a longer one is not kept */

static const char *history_path(struct ar_ctl *c)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && state[0] == '/')
		return ar_arena_fmt(&c->arena, "%s/agentctl/history", state).p;
	return home && home[0] == '/' ? ar_arena_fmt(&c->arena, "%s/.local/state/agentctl/history", home).p
				      : NULL;
}

static int open_private(const char *path, int flags)
{
	int fd = path ? open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600) : -1;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    !(st.st_mode & (S_IRWXG | S_IRWXO)))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- lines ---- */

static void add_line(struct ar_buf *to, struct ar_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] == '\n' || text.p[i] == '\\')
			ar_buf_addc(to, '\\');
		ar_buf_addc(to, text.p[i] == '\n' ? 'n' : text.p[i]);
	}
	ar_buf_addc(to, '\n');
}

static void read_line(struct ar_buf *to, struct ar_str line)
{
	ar_buf_clear(to);
	for (size_t i = 0; i < line.len; i++) {
		bool is_escaped = line.p[i] == '\\' && i + 1 < line.len;

		i += is_escaped;
		if (is_escaped && line.p[i] == 'n')
			ar_buf_addc(to, '\n');
		else if ((unsigned char)line.p[i] >= ' ' || line.p[i] == '\t')
			ar_buf_addc(to, line.p[i]);
	}
}

/* ---- the file ---- */

static void shorten(struct ar_ctl *c, const char *path, const struct ar_edit *e)
{
	const char *new = ar_arena_fmt(&c->arena, "%s.new", path).p;
	struct ar_buf text = { 0 };
	int fd = open_private(new, O_WRONLY | O_CREAT | O_TRUNC);

	for (size_t i = 0; i < e->history_count; i++)
		add_line(&text, ar_buf_str(&e->history[i]));
	if (fd >= 0 && ar_fd_write_all(fd, ar_buf_str(&text)))
		(void)!rename(new, path);
	if (fd >= 0)
		close(fd);
	ar_buf_fini(&text);
}

void ar_history_load(struct ar_ctl *c, struct ar_edit *e)
{
	const char *path = history_path(c);
	int fd = open_private(path, O_RDONLY);
	struct ar_buf all = { .cap = READ_MAX }, text = { 0 };
	struct ar_str rest, line;
	char piece[65536];
	ssize_t n;

	while (fd >= 0 && !all.failed && (n = read(fd, piece, sizeof(piece))) > 0)
		ar_buf_add(&all, piece, (size_t)n);
	for (rest = ar_buf_str(&all); rest.len;) {
		rest = ar_str_split(rest, '\n', &line);
		read_line(&text, line);
		if (text.len && text.len <= TEXT_MAX && ar_str_is_utf8(ar_buf_str(&text)))
			ar_edit_remember(e, ar_buf_str(&text));
	}
	if (fd >= 0 && all.len > FILE_MAX)
		shorten(c, path, e);
	if (fd >= 0)
		close(fd);
	ar_buf_fini(&all);
	ar_buf_fini(&text);
}

void ar_history_add(struct ar_ctl *c, struct ar_str text)
{
	const char *path = history_path(c);
	struct ar_buf line = { 0 };
	int fd;

	if (!path || !text.len || text.len > TEXT_MAX || text.p[0] == ' ')
		return;
	if (!ar_daemon_make_folder(
		    ar_ctl_strdup(c, (struct ar_str){ path, (size_t)(strrchr(path, '/') - path) })))
		return;
	fd = open_private(path, O_WRONLY | O_APPEND | O_CREAT);
	add_line(&line, text);
	if (fd >= 0 && !ar_fd_write_all(fd, ar_buf_str(&line)))
		ar_ctl_note(c, "%s cannot be written", path);
	if (fd >= 0)
		close(fd);
	ar_buf_fini(&line);
}
