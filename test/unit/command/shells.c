/* The shell's side: a script of functions that write their words to descriptor 9, one eval per text. A name
 * that the shell does not know is told with its words by bash, and alone by dash and for paths, in a message.
 * What a shell must have run is worked out from the parsed commands: known ones succeed, others fail. */
#include "shells.h"

#include "mem.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const ar_shells_names[] = { "p",  "q",   "git",  "ls",   "rm",  "echo",
					"cd", "cat", "true", "test", "pwd", "x" };
const size_t ar_shells_name_count = AR_ARRAY_LEN(ar_shells_names);

/* ---- the script ---- */

static void add_quoted(struct ar_buf *out, struct ar_str text)
{
	ar_buf_addc(out, '\'');
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] == '\'')
			ar_buf_addz(out, "'\\''");
		else
			ar_buf_addc(out, text.p[i]);
	}
	ar_buf_addc(out, '\'');
}

static void write_script(struct ar_buf *out, bool is_bash, const struct ar_shells_text *texts, size_t count)
{
	for (size_t i = 0; i < ar_shells_name_count; i++)
		ar_buf_addf(out, "%s() { printf '%%s\\0' \"#$#\" %s \"$@\" >&9; }\n", ar_shells_names[i],
			    ar_shells_names[i]);
	if (is_bash)
		ar_buf_addz(out, "command_not_found_handle() { printf '%s\\0' \"?$(($#-1))\" \"$@\" >&9; "
				 "return 127; }\n");
	for (size_t i = 0; i < count; i++) {
		ar_buf_addf(out, "printf 'S%zu\\0' >&9\neval '\n'", i);
		add_quoted(out, texts[i].text);
		ar_buf_addc(out, '\n');
	}
	ar_buf_addz(out, "printf 'S\\0' >&9\n");
}

/* ---- running it ---- */

static void put_file(const char *path, struct ar_str text)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	AR_ASSERT(fd >= 0 && write(fd, text.p, text.len) == (ssize_t)text.len);
	close(fd);
}

static struct ar_str get_file(const char *path, struct ar_arena *a)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	AR_ASSERT(fd >= 0 && fstat(fd, &st) == 0);
	bytes = ar_arena_alloc(a, (size_t)st.st_size + 1);
	AR_ASSERT(read(fd, bytes, (size_t)st.st_size) == st.st_size);
	close(fd);
	return (struct ar_str){ bytes, (size_t)st.st_size };
}

static struct ar_str run(const char *shell, bool is_bash, struct ar_str script, struct ar_arena *a)
{
	char dir[] = "/tmp/ar-shells.XXXXXX", in[64], out[64];
	char *argv[] = { is_bash ? "bash" : "dash", in, NULL };
	char *bash_argv[] = { "bash", "--noprofile", "--norc", in, NULL };
	char *env[] = { "PATH=/nonexistent", "LC_ALL=C.UTF-8", NULL };
	posix_spawn_file_actions_t files;
	struct ar_str said;
	pid_t pid;

	AR_ASSERT(mkdtemp(dir));
	snprintf(in, sizeof(in), "%s/script", dir);
	snprintf(out, sizeof(out), "%s/said", dir);
	put_file(in, script);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 9, out, O_CREAT | O_WRONLY | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(&files, 9, 2);
	posix_spawn_file_actions_addchdir_np(&files, dir);
	AR_ASSERT(posix_spawn(&pid, shell, &files, NULL, is_bash ? bash_argv : argv, env) == 0);
	posix_spawn_file_actions_destroy(&files);
	AR_ASSERT(waitpid(pid, NULL, 0) == pid);
	said = get_file(out, a);
	unlink(in);
	unlink(out);
	AR_ASSERT(rmdir(dir) == 0); /* nothing that was run made a file */
	return said;
}

/* ---- what must have been said ---- */

enum kind {
	KNOWN,
	UNKNOWN, /* told with its words */
	MESSAGE, /* told in a sentence */
};

static enum kind kind_of(struct ar_str name, bool is_bash)
{
	for (size_t i = 0; i < ar_shells_name_count; i++) {
		if (ar_str_is(name, ar_shells_names[i]))
			return KNOWN;
	}
	return is_bash && !memchr(name.p, '/', name.len) ? UNKNOWN : MESSAGE;
}

static void expect_words(struct ar_buf *out, const struct ar_command_argv *c, char mark)
{
	ar_buf_addf(out, "%c%zu", mark, c->count - 1);
	ar_buf_addc(out, 0);
	for (size_t i = 0; i < c->count; i++) {
		ar_buf_adds(out, c->words[i]);
		ar_buf_addc(out, 0);
	}
}

/* Eats what one command must have said, wherever it stands among what its pipe said. */
static bool eat(struct ar_buf *said, struct ar_str want)
{
	const char *at = memmem(said->p, said->len, want.p, want.len);

	if (!at)
		return false;
	memmove(said->p + (at - said->p), at + want.len, said->len - (size_t)(at - said->p) - want.len);
	said->len -= want.len;
	return true;
}

static bool eat_message(struct ar_buf *said, struct ar_str name, bool is_bash)
{
	static const char *const ends[] = { "not found",       "No such file or directory",
					    "Is a directory",  "Permission denied",
					    "Not a directory", "command not found" };
	size_t at = 0, colons = is_bash ? 2 : 3; /* name: line: [eval:] */

	while (at < said->len && colons > 0)
		colons -= said->p[at++] == ':';
	if (colons > 0 || at == said->len ||
	    !ar_str_starts(ar_str_sub(ar_buf_str(said), ++at, name.len), name))
		return false;
	ar_buf_eat(said, at + name.len);
	for (size_t i = 0; i < AR_ARRAY_LEN(ends); i++) {
		char want[64];
		int len = snprintf(want, sizeof(want), ": %s\n", ends[i]);

		if (!ar_str_starts(ar_buf_str(said), (struct ar_str){ want, (size_t)len }))
			continue;
		ar_buf_eat(said, (size_t)len);
		return true;
	}
	return false;
}

static bool eat_command(struct ar_buf *said, const struct ar_command_argv *c, bool is_bash)
{
	enum kind kind = kind_of(c->words[0], is_bash);
	struct ar_buf want = { 0 };
	bool is_there;

	if (kind == MESSAGE)
		return eat_message(said, c->words[0], is_bash);
	expect_words(&want, c, kind == KNOWN ? '#' : '?');
	is_there = eat(said, ar_buf_str(&want));
	ar_buf_fini(&want);
	return is_there;
}

static bool is_run(enum ar_command_join join, bool has_succeeded)
{
	return join == AR_JOIN_SEQUENCE || (join == AR_JOIN_AND) == has_succeeded;
}

static bool agrees(const struct ar_command_line *c, struct ar_str text, bool is_bash)
{
	struct ar_buf said = { 0 };
	bool has_succeeded = true, is_running = true, is_same = true;

	ar_buf_adds(&said, text);
	for (size_t i = 0; is_same && i < c->count; i++) {
		const struct ar_command_argv *one = &c->commands[i];

		if (one->join != AR_JOIN_PIPE)
			is_running = is_run(one->join, has_succeeded);
		if (!is_running)
			continue;
		is_same = eat_command(&said, one, is_bash);
		has_succeeded = kind_of(one->words[0], is_bash) == KNOWN;
	}
	is_same = is_same && said.len == 0;
	ar_buf_fini(&said);
	return is_same;
}

static bool has_newline(const struct ar_command_argv *c)
{
	for (size_t i = 0; i < c->count; i++) {
		if (memchr(c->words[i].p, '\n', c->words[i].len))
			return true;
	}
	return false;
}

/* Messages, and words with newlines, are written in pieces: in a pipe those of two commands would mix. */
static bool is_mixed(const struct ar_command_line *c, bool is_bash)
{
	for (size_t i = 0; i < c->count; i++) {
		bool is_in_pipe = c->commands[i].join == AR_JOIN_PIPE ||
				  (i + 1 < c->count && c->commands[i + 1].join == AR_JOIN_PIPE);

		if (is_in_pipe &&
		    (kind_of(c->commands[i].words[0], is_bash) == MESSAGE || has_newline(&c->commands[i])))
			return true;
	}
	return false;
}

static void tell(const char *shell, struct ar_str text, struct ar_str said)
{
	fprintf(stderr, "%s disagrees about <%.*s>, it said <", shell, AR_STR_ARG(text));
	fwrite(said.p, 1, said.len, stderr);
	fprintf(stderr, ">\n");
}

size_t ar_shells_compare(const char *shell, const struct ar_shells_text *texts, size_t count,
			 struct ar_arena *a)
{
	bool is_bash = strstr(shell, "bash") != NULL;
	struct ar_buf script = { 0 };
	struct ar_str said;
	size_t wrong = 0;

	write_script(&script, is_bash, texts, count);
	said = run(shell, is_bash, ar_buf_str(&script), a);
	ar_buf_fini(&script);
	for (size_t i = 0; i < count; i++) {
		struct ar_str mark = ar_arena_fmt(a, "S%zu", i), next = ar_arena_fmt(a, "S%zu", i + 1);
		const char *end;

		mark.len++;
		next.len = i + 1 < count ? next.len + 1 : 2;
		if (i + 1 == count)
			next = (struct ar_str){ "S\0", 2 };
		AR_ASSERT(ar_str_starts(said, mark));
		said = ar_str_sub(said, mark.len, said.len);
		end = memmem(said.p, said.len, next.p, next.len);
		if (!end ||
		    (!is_mixed(&texts[i].parsed, is_bash) &&
		     !agrees(&texts[i].parsed, (struct ar_str){ said.p, (size_t)(end - said.p) }, is_bash))) {
			if (wrong++ == 0)
				tell(shell, texts[i].text,
				     end ? (struct ar_str){ said.p, (size_t)(end - said.p) } : said);
		}
		if (!end)
			break; /* the shell gave up there */
		said = ar_str_sub(said, (size_t)(end - said.p), said.len);
	}
	return wrong;
}
