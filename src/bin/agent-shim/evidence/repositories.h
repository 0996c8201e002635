/* Git repositories that a command made or changed below the root of the workspace (launch/planted.h), in the
 * journal: looked for when everything is over. */
#ifndef AR_SHIM_REPOSITORIES_H
#define AR_SHIM_REPOSITORIES_H

#include <stdbool.h>
#include <stdint.h>

struct ar_shim;

struct ar_repositories {
	uint64_t since; /* the command was let go, by the clock of file systems */
	uint64_t until; /* the search may take */
	unsigned reported; /* are on record */
	unsigned passed; /* in this search */
};

/* Before the command is let go. */
void ar_repositories_begin(struct ar_repositories *r);

/* One record for each. False: the disk is full, call it again. */
bool ar_repositories_finish(struct ar_shim *s);

#endif
