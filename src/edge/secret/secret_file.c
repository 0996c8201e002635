/* See secret_priv.h. A link is followed below the folder of the file alone, as those of a mounted
 * Kubernetes secret are: one that leads elsewhere could have been put there to have another file read. */
#include "secret_priv.h"
#include "io/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_below(const char *path)
{
	const struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	const char *name = strrchr(path, '/') + 1;
	AR_AUTO(ar_buf_fini) struct ar_buf folder = { 0 };
	AR_AUTO(ar_fd_close) int dir = -1;

	ar_buf_addf(&folder, "%.*s%c", (int)(name - path), path, '\0');
	dir = open(folder.p, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

/* A file of root that the daemon's own group may read is how an unprivileged daemon is given one. */
static bool is_open_to_others(const struct stat *st)
{
	bool is_for_us = st->st_uid == 0 && geteuid() != 0 && st->st_gid == getegid();

	return (st->st_mode & 07) != 0 || ((st->st_mode & 070) != 0 && !is_for_us) ||
	       (st->st_uid != 0 && st->st_uid != geteuid());
}

static enum ar_status check(int fd, const char *path, bool is_credential, struct ar_error *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return ar_fail(err, AR_E_INVALID, "'%.100s' is not a regular file; name one", path);
	if (st.st_size > AR_SECRET_MAX)
		return ar_fail(err, AR_E_LIMIT, "'%.100s' has more than %d bytes, which no secret has", path,
			       AR_SECRET_MAX);
	if (!is_credential && is_open_to_others(&st))
		return ar_fail(err, AR_E_INVALID,
			       "'%.100s' belongs to user %u with mode %03o: other users than agentd can read "
			       "or change it; make agentd its owner and run chmod 600",
			       path, (unsigned)st.st_uid, (unsigned)(st.st_mode & 0777));
	return AR_OK;
}

static enum ar_status read_all(int fd, const char *path, struct ar_buf *out, struct ar_error *err)
{
	char piece[4096];
	ssize_t n;

	while (out->len <= AR_SECRET_MAX && (n = read(fd, piece, sizeof(piece))) != 0) {
		if (n < 0)
			return ar_fail(err, AR_E_IO, "'%.100s' cannot be read: %s", path, strerror(errno));
		ar_buf_add(out, piece, (size_t)n);
	}
	explicit_bzero(piece, sizeof(piece));
	return AR_OK;
}

enum ar_status ar_secret_read_file(const char *path, bool is_credential, struct ar_buf *out,
				   struct ar_error *err)
{
	AR_AUTO(ar_fd_close) int fd = open_below(path);

	if (fd < 0 && (errno == EXDEV || errno == ELOOP))
		return ar_fail(err, AR_E_INVALID,
			       "'%.100s' is a link that leads out of its directory; name the file itself",
			       path);
	if (fd < 0)
		return ar_fail(err, AR_E_NOT_FOUND,
			       "'%.100s' cannot be opened: %s; check the path and its "
			       "permissions",
			       path, strerror(errno));
	if (check(fd, path, is_credential, err) != AR_OK)
		return err->status;
	return read_all(fd, path, out, err);
}
