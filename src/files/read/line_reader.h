/* A file line by line in bounded memory. A line longer than the buffer is given in its first part; the rest
 * of it is passed over. */
#ifndef AR_FILES_LINE_READER_H
#define AR_FILES_LINE_READER_H

#include "work.h"

#define AR_LINE_MAX ((size_t)256 << 10)

struct ar_line {
	struct ar_str text; /* without its end (LF or CRLF); until the next call */
	bool is_cut;
	bool ends_with_cr;
};

struct ar_line_reader {
	const struct ar_files_work *work;
	int fd; /* borrowed */
	char *buf; /* AR_LINE_MAX bytes */
	size_t from, len;
	uint64_t bytes; /* read so far */
	bool is_at_end;
	bool has_failed; /* the file could not be read to its end */
	bool is_passing; /* over the rest of a long line */
};

/* Reads the beginning of the file. */
void ar_line_reader_init(struct ar_line_reader *r, const struct ar_files_work *w, int fd);
void ar_line_reader_fini(struct ar_line_reader *r);

/* What has been read and not yet given: after init, the first bytes of the file. */
struct ar_str ar_line_reader_ahead(const struct ar_line_reader *r);

/* A NUL among the first bytes: no text. Right after init. */
bool ar_line_reader_is_binary(const struct ar_line_reader *r);

bool ar_line_reader_next(struct ar_line_reader *r, struct ar_line *ret);

#endif
