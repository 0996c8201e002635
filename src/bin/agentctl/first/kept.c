/* See kept.h. A value is the rest of its line, as in an EnvironmentFile of systemd without quotes. */
#include "first/kept.h"
#include "daemon.h"
#include "first/first.h"
#include "io/descriptor.h"
#include "io/start_file.h"
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 4096

/* A file that somebody else wrote sets nothing but these. */
static const char *const names[] = { "OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY",
				     "GEMINI_API_KEY", "AGENTD_MODEL" };

const char *ar_kept_path(struct ar_ctl *c)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (config && config[0] == '/')
		return ar_arena_fmt(&c->arena, "%s/agentd/environment", config).p;
	return home && home[0] == '/' ? ar_arena_fmt(&c->arena, "%s/.config/agentd/environment", home).p
				      : NULL;
}

/* ---- reading ---- */

bool ar_kept_is_overridden(struct ar_ctl *c)
{
	struct ar_start_file last = { 0 };
	struct ar_model_endpoint m;

	if (ar_model_endpoint(c, &m) || getenv("AGENTD_CONFIG") || !c->data_dir)
		return true;
	return ar_start_file_read(c->data_dir, &c->arena, &last, NULL) == AR_OK &&
	       !ar_str_absent(last.config);
}

static bool is_private(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IRWXG | S_IRWXO));
}

/* An address on this machine as setup writes it. */
static bool is_for_another(struct ar_str text)
{
	const struct ar_str begin = AR_STR("OPENAI_BASE_URL=http://127.0.0.1:");
	struct ar_str line, port;
	uint64_t number;

	while (!ar_str_empty(text)) {
		text = ar_str_split(text, '\n', &line);
		if (!ar_str_starts(line, begin))
			continue;
		ar_str_split(ar_str_sub(line, begin.len, line.len - begin.len), '/', &port);
		if (ar_str_to_u64(port, &number) && number < 65536 && ar_first_is_foreign((unsigned)number))
			return true;
	}
	return false;
}

static void set_line(struct ar_ctl *c, struct ar_str line)
{
	struct ar_str name;
	struct ar_str value = ar_str_split(line, '=', &name);

	for (size_t i = 0; i < AR_ARRAY_LEN(names); i++) {
		if (ar_str_is(name, names[i]) && value.len && ar_str_is_text(value))
			setenv(names[i], ar_ctl_strdup(c, value), 0);
	}
}

void ar_kept_load(struct ar_ctl *c)
{
	const char *path = ar_kept_path(c);
	int fd = path && !ar_kept_is_overridden(c)
			 ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
			 : -1;
	char text[FILE_MAX];
	ssize_t len;
	struct ar_str rest, line;

	if (fd < 0)
		return;
	if (!is_private(fd)) {
		ar_ctl_note(c, "%s is not used, others can read or change it: chmod 600 %s", path, path);
		close(fd);
		return;
	}
	len = read(fd, text, sizeof(text));
	close(fd);
	rest = (struct ar_str){ text, len > 0 ? (size_t)len : 0 };
	if (is_for_another(rest)) {
		ar_ctl_note(c,
			    "%s is not used, another user listens on the port that it names: agentctl setup",
			    path);
		return;
	}
	while (!ar_str_empty(rest)) {
		rest = ar_str_split(rest, '\n', &line);
		set_line(c, line);
	}
}

/* ---- writing ---- */

static bool replace_file(struct ar_ctl *c, const char *path, struct ar_str text)
{
	const char *new = ar_arena_fmt(&c->arena, "%s.new", path).p;
	int fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool is_ok = fd >= 0 && fchmod(fd, 0600) == 0 && ar_fd_write_all(fd, text) && fsync(fd) == 0;

	if (fd >= 0)
		close(fd);
	return is_ok && rename(new, path) == 0;
}

static enum ar_exit cannot(struct ar_ctl *c, const char *path)
{
	return ar_ctl_complain(c, AR_EXIT_FAILED,
			       AR_STR("check the owner of its directory, or export the variables yourself"),
			       "%s cannot be changed: %s", path ? path : "the file of the answers",
			       path ? strerror(errno) : "HOME is not set");
}

enum ar_exit ar_kept_save(struct ar_ctl *c, const struct ar_kept *what)
{
	const char *path = ar_kept_path(c);
	struct ar_buf text = { 0 };
	bool is_ok;

	for (size_t i = 0; i < what->count; i++)
		ar_buf_addf(&text, "%s=%s\n", what->at[i].variable, what->at[i].value);
	is_ok = path &&
		ar_daemon_make_folder(
			ar_ctl_strdup(c, (struct ar_str){ path, (size_t)(strrchr(path, '/') - path) })) &&
		replace_file(c, path, ar_buf_str(&text));
	ar_buf_fini(&text);
	if (!is_ok)
		return cannot(c, path);
	ar_ctl_note(c, "kept in %s, which only you can read; agentctl setup changes it", path);
	return AR_EXIT_OK;
}

enum ar_exit ar_kept_remove(struct ar_ctl *c)
{
	const char *path = ar_kept_path(c);

	if (!path || (unlink(path) != 0 && errno != ENOENT))
		return cannot(c, path);
	return AR_EXIT_OK;
}
