/* A file of lines that does not outgrow a limit: at the limit it is renamed to NAME.1, in the place of the
 * one before, and begun anew. Others may be able to write in its folder: links, pipes and files with a second
 * name are not written to. Nothing here waits or fails loudly; a line that cannot be written is not there.
 * Owner: the loop thread. */
#ifndef AR_HOST_OPS_LINE_FILE_H
#define AR_HOST_OPS_LINE_FILE_H

#include "status.h"
#include "str.h"

struct ar_line_file {
	int folder, fd; /* valid while is_open; fd -1: it has to be opened again */
	char *name, *old_name;
	int64_t limit;
	bool is_open;
	bool is_torn; /* the newest line is not whole: the disk was full */
};

AR_MUST_USE enum ar_status ar_line_file_open(struct ar_line_file *f, const char *path, int64_t limit,
					     struct ar_error *err);

/* Adds the end of the line. False: it was not written. */
AR_MUST_USE bool ar_line_file_write(struct ar_line_file *f, struct ar_str line);

void ar_line_file_close(struct ar_line_file *f);

#endif
