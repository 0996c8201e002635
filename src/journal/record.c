/* One record of a journal: closed by its writer, read from bytes that may be one. Owns no memory;
 * any thread. */
#include "journal.h"

#include <string.h>

_Static_assert(sizeof(struct ar_record_head) == 32, "the head is what is on disk");

static uint32_t checksum(struct ar_record_head head, const void *payload)
{
	head.crc = 0;
	return ar_crc32c(ar_crc32c(0, &head, sizeof(head)), payload, head.len);
}

void ar_record_close(struct ar_record_head *head, const void *payload)
{
	head->magic = AR_JOURNAL_MAGIC;
	head->crc = checksum(*head, payload);
}

/* What the head alone shows, before its payload has arrived. */
static bool is_plausible(const struct ar_record_head *head)
{
	return head->magic == AR_JOURNAL_MAGIC && head->len <= AR_JOURNAL_PAYLOAD_MAX && head->type > 0 &&
	       head->type < AR_RECORD_TYPE_COUNT && head->stream <= AR_STREAM_TTY && head->seq > 0;
}

size_t ar_record_read(const char *bytes, size_t len, struct ar_record *ret, bool *ret_is_broken)
{
	struct ar_record_head head;

	*ret_is_broken = false;
	if (len < sizeof(head))
		return 0;
	memcpy(&head, bytes, sizeof(head));
	if (!is_plausible(&head)) {
		*ret_is_broken = true;
		return 0;
	}
	if (len - sizeof(head) < head.len)
		return 0;
	if (checksum(head, bytes + sizeof(head)) != head.crc) {
		*ret_is_broken = true;
		return 0;
	}
	*ret = (struct ar_record){ .head = head, .payload = bytes + sizeof(head) };
	return sizeof(head) + head.len;
}
