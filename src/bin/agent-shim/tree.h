/* The process and all its descendants, as one thing to count and to kill. */
#ifndef AR_SHIM_TREE_H
#define AR_SHIM_TREE_H

#include <stdint.h>
#include <sys/types.h>

struct ar_shim;

uint64_t ar_tree_count(pid_t root); /* living descendants of `root`, not itself */

/* Kills what there is; called again until nothing is left, because something may be forking meanwhile. */
void ar_tree_kill(struct ar_shim *s);

#endif
