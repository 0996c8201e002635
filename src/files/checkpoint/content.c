/* See content.h. */
#include "checkpoint/content.h"

#include "clock.h"
#include "workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_SECOND 1000000000
#define SLACK \
	((int64_t)20 * 1000 * 1000) /* more than a tick of the clock that the kernel stamps files with */
#define COARSE ((int64_t)2 * NS_PER_SECOND) /* file systems that keep whole seconds, or two of them */

int64_t ar_content_racy_since(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->wall(clock) * 1000;
}

/* By ctime: nobody can set that back. */
bool ar_content_is_racy(const struct ar_tree_entry *e, int64_t since)
{
	int64_t slack = e->ctime % NS_PER_SECOND == 0 ? COARSE : SLACK;

	return e->ctime >= since - slack;
}

/* As git names the content: its hash behind a head that says its size. The head is in the buffer already. */
static struct ar_hash object_of(const struct ar_buf *b)
{
	return ar_hash_of(ar_buf_str(b));
}

static void begin(struct ar_buf *b, int64_t size)
{
	ar_buf_clear(b);
	ar_buf_addf(b, "blob %lld", (long long)size);
	ar_buf_addc(b, '\0');
}

static bool read_link(const struct ar_scan_found *f, struct ar_buf *ret, struct ar_tree_entry *e)
{
	char target[4096];
	ssize_t len = readlinkat(f->folder, f->name, target, sizeof(target));

	if (len <= 0 || (size_t)len >= sizeof(target))
		return false;
	ar_tree_entry_set_stat(e, &f->st);
	begin(ret, len);
	ar_buf_add(ret, target, (size_t)len);
	e->object = object_of(ret);
	return true;
}

/* Exactly so many bytes; false: there are fewer. */
static bool read_bytes(int fd, size_t len, struct ar_buf *ret)
{
	char *to = ar_buf_room(ret, len + 1);

	while (len > 0) {
		ssize_t n = read(fd, to, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		len -= (size_t)n;
		ret->len += (size_t)n;
	}
	return true;
}

/* A file that shrinks while it is read is read again with the size that it has then. */
static bool read_file(int fd, struct ar_buf *ret, struct ar_tree_entry *e)
{
	struct stat st;

	for (int tries = 0; tries < 3; tries++) {
		if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > AR_TREE_ENTRY_BYTES_MAX ||
		    lseek(fd, 0, SEEK_SET) != 0)
			return false;
		begin(ret, st.st_size);
		if (!read_bytes(fd, (size_t)st.st_size, ret))
			continue;
		ar_tree_entry_set_stat(e, &st);
		e->object = object_of(ret);
		return true;
	}
	return false;
}

bool ar_content_read(const struct ar_scan_found *f, struct ar_buf *ret, struct ar_tree_entry *e)
{
	if (S_ISLNK(f->st.st_mode))
		return read_link(f, ret, e);
	AR_AUTO(ar_workspace_closep)
	int fd = openat(f->folder, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd >= 0 && read_file(fd, ret, e);
}
