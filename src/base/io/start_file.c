/* See start_file.h. Any thread. */
#include "io/start_file.h"
#include "buf.h"
#include "io/descriptor.h"
#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "start.json"
#define NEW_NAME "start.json.new"
#define FILE_MAX ((size_t)16384)

/* ---- writing ---- */

static bool replace_file(int folder, struct ar_str text)
{
	int fd = openat(folder, NEW_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool is_ok = fd >= 0 && fchmod(fd, 0600) == 0 && ar_fd_write_all(fd, text) && fsync(fd) == 0;

	if (fd >= 0)
		close(fd);
	return is_ok && renameat(folder, NEW_NAME, folder, NAME) == 0 && fsync(folder) == 0;
}

/* A start on a full disk with the settings of the last one needs no room. */
static bool is_written(int folder, struct ar_str text)
{
	int fd = openat(folder, NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char old[FILE_MAX];
	ssize_t len = fd >= 0 ? read(fd, old, sizeof(old)) : -1;

	if (fd >= 0)
		close(fd);
	return len >= 0 && ar_str_eq(text, (struct ar_str){ old, (size_t)len });
}

static const struct {
	const char *name;
	size_t offset;
} members[] = {
	{ "config", offsetof(struct ar_start_file, config) },
	{ "listen", offsetof(struct ar_start_file, listen) },
	{ "socket", offsetof(struct ar_start_file, socket) },
	{ "workspace", offsetof(struct ar_start_file, workspace) },
	{ "model", offsetof(struct ar_start_file, model) },
	{ "provider", offsetof(struct ar_start_file, provider) },
	{ "stopMs", offsetof(struct ar_start_file, stop_ms) },
};

enum ar_status ar_start_file_write(const char *data_dir, const struct ar_start_file *what,
				   struct ar_error *err)
{
	int folder = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ar_buf text = { .cap = FILE_MAX };
	struct ar_jw w = ar_jw(&text);
	enum ar_status st = AR_OK;

	ar_jw_open(&w);
	for (size_t i = 0; i < AR_ARRAY_LEN(members); i++)
		ar_jw_mstr(&w, members[i].name,
			   *(const struct ar_str *)((const char *)what + members[i].offset));
	ar_jw_close(&w);
	ar_buf_addc(&text, '\n');
	if (text.failed || !ar_str_is_utf8(ar_buf_str(&text)))
		st = ar_fail(err, AR_E_INVALID,
			     "the paths of settings file and workspace are over %zu bytes or not UTF-8; name "
			     "others",
			     FILE_MAX);
	else if (folder < 0 ||
		 !(is_written(folder, ar_buf_str(&text)) || replace_file(folder, ar_buf_str(&text))))
		st = ar_fail(err, AR_E_IO, "%s/%s cannot be written: %s", data_dir, NAME, strerror(errno));
	if (folder >= 0)
		close(folder);
	ar_buf_fini(&text);
	return st;
}

/* ---- reading ---- */

static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static enum ar_status parse(struct ar_str text, struct ar_arena *a, struct ar_start_file *ret)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc = { 0 };
	enum ar_status st = ar_json_parse(parser, text, &doc, NULL);

	if (st == AR_OK && ar_json_type(doc) != AR_JSON_OBJECT)
		st = AR_E_CORRUPT;
	for (size_t i = 0; st == AR_OK && i < AR_ARRAY_LEN(members); i++) {
		struct ar_json v = ar_json_get(doc, members[i].name);
		struct ar_str one = AR_STR_NONE;

		if (ar_json_type(v) != AR_JSON_NONE && !ar_json_str(v, &one))
			st = AR_E_CORRUPT;
		*(struct ar_str *)((char *)ret + members[i].offset) = ar_arena_str(a, one);
	}
	if (!ar_str_absent(ret->config) && !ar_str_starts(ret->config, AR_STR("/")))
		st = AR_E_CORRUPT;
	ar_json_parser_free(parser);
	return st;
}

enum ar_status ar_start_file_read(const char *data_dir, struct ar_arena *a, struct ar_start_file *ret,
				  struct ar_error *err)
{
	const char *path = ar_arena_fmt(a, "%s/%s", data_dir, NAME).p;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[FILE_MAX];
	enum ar_status st;
	ssize_t len;

	*ret = (struct ar_start_file){ 0 };
	if (fd < 0 && errno == ENOENT)
		return AR_OK;
	if (fd < 0)
		return ar_fail(err, AR_E_IO, "%s cannot be read: %s", path, strerror(errno));
	if (!is_ours(fd)) {
		close(fd);
		return ar_fail(err, AR_E_INVALID, "%s belongs to another user or can be written by others",
			       path);
	}
	len = read(fd, text, sizeof(text));
	close(fd);
	st = parse((struct ar_str){ text, len > 0 ? (size_t)len : 0 }, a, ret);
	return st == AR_OK ? AR_OK : ar_fail(err, AR_E_CORRUPT, "%s is damaged", path);
}
