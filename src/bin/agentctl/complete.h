/* `agentctl __complete WORD...`, which shells call: what may stand for the last of the words, from the same
 * table as the help. One per line, a tab and what it is behind it. Sessions and the like are asked of a
 * daemon that runs; none is started, and an answer is not waited for long. */
#ifndef AR_CTL_COMPLETE_H
#define AR_CTL_COMPLETE_H

#include "args.h"

struct ar_ctl_table {
	const struct ar_ctl_command *const *commands;
	size_t count;
};

/* The place of the daemon as the words say it, for the caller to find it. */
void ar_complete_globals(int count, char **words, struct ar_globals *ret);

/* The last word is the one that is typed. c has the daemon's place, or neither socket nor url. */
void ar_complete(struct ar_ctl *c, const struct ar_ctl_table *t, int count, char **words);

#endif
