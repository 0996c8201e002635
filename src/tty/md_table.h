/* A table of styled cells, as aligned columns where they fit and as one line per cell where they do not.
 * Owner: the caller's thread. */
#ifndef AR_TTY_MD_TABLE_H
#define AR_TTY_MD_TABLE_H

#include "markdown.h"

#define AR_MD_COLUMNS 32 /* cells of a row over this are left out */

/* Zeroed. Cells are ended by a newline, one row after the other; the first row is the head. */
struct ar_md_table {
	struct ar_buf cells;
	int columns; /* of the head */
	int at; /* cells of the current row so far */
	int rows;
};

void ar_md_table_row(struct ar_md_table *t); /* begins one */
void ar_md_table_cell(struct ar_md_table *t, struct ar_str text);
void ar_md_table_end_row(struct ar_md_table *t);
void ar_md_table_print(const struct ar_md_table *t, const struct ar_md_out *out);
void ar_md_table_fini(struct ar_md_table *t);

#endif
