/* A folder of a process with a journal as a test wants it: nobody ever ran there. */
#ifndef AR_TEST_PROCESS_JOURNAL_FILE_H
#define AR_TEST_PROCESS_JOURNAL_FILE_H

#include "desk.h"
#include "handle.h"
#include "journal.h"

struct journal_file {
	int fd, lock;
	uint64_t seq;
	char folder[128], handle[512];
};

void journal_make(struct journal_file *j, struct desk *d);
void journal_add(struct journal_file *j, enum ar_record_type type, enum ar_record_stream stream,
		 const void *bytes, size_t len);
void journal_say(struct journal_file *j, enum ar_record_type type, const char *json);
void journal_begin(struct journal_file *j); /* SPAWNED, APPLIED, RELEASED, STARTED */
void journal_end(struct journal_file *j, const char *exit_json); /* EXIT, OUTPUT_END, SEALED */
void journal_lock(struct journal_file *j); /* as if a shim lived */
void journal_close(struct journal_file *j);

/* The handle as another machine or boot would have it; NULL: as here. */
void journal_handle(const struct journal_file *j, const char *machine, const char *boot, char out[512]);

#endif
