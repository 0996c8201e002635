/* Matching lines as text: files as headings, numbers before lines, lines around a match. */
#ifndef AR_FILES_HITS_H
#define AR_FILES_HITS_H

#include "work.h"

#define AR_HITS_CONTEXT_MAX 10

struct ar_hits {
	struct ar_files_work *work; /* its text gets the lines; args.context says how many around a match */
	int64_t count; /* matching lines */
	size_t files; /* with a match */
	struct ar_str path; /* of the file */
	int64_t number; /* of the last line */
	int64_t shown; /* number of the last line that was written; 0: none of this file */
	int64_t after; /* lines still to be written behind a match */
	struct ar_buf before[AR_HITS_CONTEXT_MAX]; /* the last lines, as they would be shown, by number */
};

/* Begins with the lines of another file. */
void ar_hits_file(struct ar_hits *h, struct ar_str path);

/* The next line of the file; from: where in it the match begins. */
void ar_hits_line(struct ar_hits *h, struct ar_str line, bool is_match, size_t from);

/* True when another match with all that belongs to it still fits. */
bool ar_hits_fit(const struct ar_hits *h);

void ar_hits_fini(struct ar_hits *h);

#endif
