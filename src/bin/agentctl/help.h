/* The pages that --help and `agentctl help` print, made from the command table; and what a mistyped word
 * meant. */
#ifndef AR_CTL_HELP_H
#define AR_CTL_HELP_H

#include "ctl.h"

void ar_help_overview(struct ar_out *o, const struct ar_ctl_command *const *commands, size_t count);
void ar_help_command(struct ar_out *o, const struct ar_ctl_command *cmd);

/* The name that `word` begins, else the nearest of `count` names by edit distance; NULL when none is near.
 * name_at may return NULL for a hole. */
const char *ar_help_nearest(const char *word, const char *(*name_at)(const void *table, size_t i),
			    const void *table, size_t count);

#endif
