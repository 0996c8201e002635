/* A file of a pack, line by line. */
#ifndef AR_CTL_PACK_LINES_H
#define AR_CTL_PACK_LINES_H

#include "str.h"

#include <stdio.h>

struct ar_pack_lines {
	FILE *file;
	char *line;
	size_t room;
};

/* False: it cannot be read; the object is one that can be closed. */
bool ar_pack_lines_open(struct ar_pack_lines *l, int folder, const char *name);
void ar_pack_lines_close(struct ar_pack_lines *l);

/* The next line without its end, until the one after it; false: there is none that has an end. */
bool ar_pack_lines_next(struct ar_pack_lines *l, struct ar_str *ret);

#endif
