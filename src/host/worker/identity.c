/* See identity.h. */
#include "worker/identity.h"

#include "io/descriptor.h"
#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The whole of a small file. */
static enum ar_status read_file(const char *path, struct ar_arena *a, struct ar_str *ret,
				struct ar_error *err)
{
	AR_AUTO(ar_fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char room[AR_WORKER_TOKEN_MAX + 256];
	ssize_t len;

	if (fd < 0)
		return ar_fail(err, errno == ENOENT ? AR_E_NOT_FOUND : AR_E_INVALID,
			       "'%.200s' cannot be opened: %s", path, strerror(errno));
	len = read(fd, room, sizeof room);
	if (len < 0 || (size_t)len == sizeof room)
		return ar_fail(err, AR_E_INVALID, "'%.200s' cannot be read, or is too long", path);
	*ret = ar_arena_str(a, (struct ar_str){ room, (size_t)len });
	explicit_bzero(room, sizeof room);
	return AR_OK;
}

/* Others could have read the token, or written one of their own. */
static enum ar_status check_owner(const char *path, struct ar_error *err)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return ar_fail(err, errno == ENOENT ? AR_E_NOT_FOUND : AR_E_INVALID,
			       "'%.200s' cannot be opened: %s", path, strerror(errno));
	if (S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
		return AR_OK;
	return ar_fail(err, AR_E_INVALID,
		       "'%.200s' can be read or changed by others; it must belong to this user, mode 0600",
		       path);
}

enum ar_status ar_worker_identity_read(const char *path, struct ar_arena *a, struct ar_worker_identity *ret,
				       struct ar_error *err)
{
	struct ar_json_parser *parser;
	struct ar_str text, id, token;
	struct ar_json v;
	bool is_good;

	if (check_owner(path, err) != AR_OK || read_file(path, a, &text, err) != AR_OK)
		return err->status;
	parser = ar_json_parser_new();
	is_good = ar_json_parse(parser, text, &v, NULL) == AR_OK &&
		  ar_json_str(ar_json_get(v, "workerId"), &id) &&
		  ar_json_str(ar_json_get(v, "token"), &token);
	if (is_good)
		*ret = (struct ar_worker_identity){ ar_arena_str(a, id), ar_arena_str(a, token) };
	ar_json_parser_free(parser);
	if (is_good)
		return AR_OK;
	return ar_fail(err, AR_E_INVALID,
		       "'%.200s' is damaged; remove it and enrol this worker again with a new token", path);
}

static bool write_synced(const char *path, struct ar_str text)
{
	AR_AUTO(ar_fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd >= 0 && fchmod(fd, 0600) == 0 && ar_fd_write_all(fd, text) && fsync(fd) == 0;
}

static bool sync_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	AR_AUTO(ar_fd_close) int fd = -1;

	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && fsync(fd) == 0;
}

enum ar_status ar_worker_identity_write(const char *path, const struct ar_worker_identity *who,
					struct ar_error *err)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);
	char fresh[PATH_MAX];
	bool is_ok;

	snprintf(fresh, sizeof fresh, "%s.new", path);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "workerId", who->id);
	ar_jw_mstr(&w, "token", who->token);
	ar_jw_close(&w);
	is_ok = write_synced(fresh, ar_buf_str(&text)) && rename(fresh, path) == 0 && sync_folder_of(path);
	explicit_bzero(text.p, text.len);
	ar_buf_fini(&text);
	return is_ok ? AR_OK : ar_fail(err, AR_E_IO, "'%.200s' cannot be written: %s", path, strerror(errno));
}

enum ar_status ar_worker_token_read(const char *path, struct ar_arena *a, struct ar_str *ret,
				    struct ar_error *err)
{
	struct ar_str text;

	if (read_file(path, a, &text, err) != AR_OK)
		return err->status;
	*ret = ar_str_trim(text, " \t\r\n");
	if (ret->len > 0 && ret->len <= AR_WORKER_TOKEN_MAX && !memchr(ret->p, '\n', ret->len))
		return AR_OK;
	return ar_fail(err, AR_E_INVALID, "'%.200s' does not hold one token", path);
}
