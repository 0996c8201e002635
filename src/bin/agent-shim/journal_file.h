/* The journal of one process as its only writer sees it. Room for the last records is set aside from the
 * start: a full disk stops the output, never the record of what became of the process. */
#ifndef AR_SHIM_JOURNAL_FILE_H
#define AR_SHIM_JOURNAL_FILE_H

#include "journal.h"

struct ar_journal_file {
	int fd;
	uint64_t seq; /* of the newest record */
	uint64_t size;
	uint64_t reserved_to; /* the disk has promised space up to here */
	bool cannot_reserve; /* this filesystem does not promise; writes tell */
	bool is_full;
	bool has_grown; /* since somebody looked at this member */
};

/* Makes the file; it must not be there yet. */
bool ar_journal_file_open(struct ar_journal_file *j, const char *path);

/* May a record of output be tried, with room for the end left? False: is_full, ask again later. */
bool ar_journal_file_has_room(struct ar_journal_file *j);

/* One record, whole or not at all; false: it is not there, and the disk is full or broken. */
bool ar_journal_file_add(struct ar_journal_file *j, enum ar_record_type type, enum ar_record_stream stream,
			 const void *payload, size_t len);

/* A record without a stream; its payload is written as by printf, at most 8 KiB. */
__attribute__((format(printf, 3, 4))) bool ar_journal_file_addf(struct ar_journal_file *j,
								enum ar_record_type type, const char *format,
								...);

bool ar_journal_file_sync(struct ar_journal_file *j);

/* After the last record: the space that was promised and not needed goes back. */
void ar_journal_file_trim(struct ar_journal_file *j);

#endif
