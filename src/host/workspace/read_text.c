/* See read_text.h. */
#include "workspace/read_text.h"

#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *why_not(int error)
{
	if (error == ENOENT || error == ENOTDIR)
		return "not_found: there is no such file";
	if (error == ELOOP || error == EXDEV)
		return "unreadable: a link is on its path; put a regular file there";
	return "unreadable: the file cannot be read";
}

/* NULL when `out` has the whole text. */
static const char *read_all(int fd, struct ar_buf *out)
{
	char piece[8192];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return "unreadable: it is not a regular file";
	if (st.st_nlink != 1)
		return "unreadable: it has other names (hard links); put a copy there";
	if (st.st_size > AR_READ_TEXT_MAX)
		return "too_large: 64 KiB is allowed";
	while ((n = read(fd, piece, sizeof(piece))) > 0 && out->len <= AR_READ_TEXT_MAX)
		ar_buf_add(out, piece, (size_t)n);
	if (n < 0)
		return why_not(errno);
	if (out->len > AR_READ_TEXT_MAX)
		return "too_large: 64 KiB is allowed";
	if (!ar_str_is_text(ar_buf_str(out)))
		return "unreadable: it is not text in UTF-8";
	return NULL;
}

const char *ar_read_text(int folder, const char *path, struct ar_buf *out)
{
	int fd = folder < 0 ? -1 : ar_beneath_open(folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, false);
	const char *reason = fd < 0 ? why_not(errno) : read_all(fd, out);

	if (fd >= 0)
		close(fd);
	return reason;
}
