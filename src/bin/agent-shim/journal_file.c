/* Appends records. A record that does not fit is cut off again, so that the file always ends with a whole
 * one; what the disk promised beforehand (fallocate beyond the end) is there for the small records even when
 * it is full. */
#include "journal_file.h"
#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#define RESERVE 65536 /* for the small records, always */
#define STEP 262144 /* what is asked for at once beyond it */
#define SAID_MAX 8192

bool ar_journal_file_open(struct ar_journal_file *j, const char *path)
{
	j->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return j->fd >= 0 && ar_journal_file_has_room(j);
}

bool ar_journal_file_has_room(struct ar_journal_file *j)
{
	uint64_t need = j->size + sizeof(struct ar_record_head) + AR_JOURNAL_PAYLOAD_MAX + RESERVE;

	if (j->cannot_reserve)
		return true;
	if (need <= j->reserved_to) {
		j->is_full = false;
		return true;
	}
	if (fallocate(j->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)(need + STEP)) == 0) {
		j->reserved_to = need + STEP;
		j->is_full = false;
		return true;
	}
	j->cannot_reserve = errno == EOPNOTSUPP || errno == ENOSYS;
	j->is_full = !j->cannot_reserve;
	return j->cannot_reserve;
}

static bool write_whole(struct ar_journal_file *j, const struct ar_record_head *head, const void *payload)
{
	struct iovec parts[2] = { { (void *)head, sizeof(*head) }, { (void *)payload, head->len } };
	size_t whole = sizeof(*head) + head->len;
	ssize_t n;

	do
		n = writev(j->fd, parts, head->len > 0 ? 2 : 1);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)whole)
		return true;
	/* A torn record would be the end of the journal for every reader. */
	while (n > 0 && ftruncate(j->fd, (off_t)j->size) != 0 && errno == EINTR)
		;
	return false;
}

bool ar_journal_file_add(struct ar_journal_file *j, enum ar_record_type type, enum ar_record_stream stream,
			 const void *payload, size_t len)
{
	struct ar_record_head head = {
		.len = (uint32_t)len,
		.type = (uint16_t)type,
		.stream = (uint16_t)stream,
		.seq = j->seq + 1,
		.at = ar_shim_wall_time(),
	};

	ar_record_close(&head, payload);
	if (!write_whole(j, &head, payload)) {
		j->is_full = true;
		return false;
	}
	j->seq++;
	j->size += sizeof(head) + len;
	j->has_grown = true;
	/* A small record out of the reserve says nothing about room for output. */
	j->is_full = j->is_full && !j->cannot_reserve;
	return true;
}

bool ar_journal_file_addf(struct ar_journal_file *j, enum ar_record_type type, const char *format, ...)
{
	char text[SAID_MAX];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(text))
		return false;
	return ar_journal_file_add(j, type, AR_STREAM_NONE, text, (size_t)n);
}

bool ar_journal_file_sync(struct ar_journal_file *j)
{
	return fsync(j->fd) == 0;
}

void ar_journal_file_trim(struct ar_journal_file *j)
{
	if (ftruncate(j->fd, (off_t)j->size) != 0)
		j->is_full = true;
}
