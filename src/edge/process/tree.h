/* The processes of the host behind one of ours: the first of its namespace and the command itself. Found
 * while their supervisor lives, held as descriptors, so that an id which the kernel gives to somebody else is
 * never mistaken for them. No state. */
#ifndef AR_PROCESS_TREE_H
#define AR_PROCESS_TREE_H

#include <stdbool.h>
#include <sys/types.h>

/* The first process of the namespace, a descendant of the shim; -1: it is not. */
int ar_tree_first(pid_t shim, pid_t first);

/* The command, a child of the first process, by its id inside; -1: not found. */
int ar_tree_command(pid_t first, pid_t inside, pid_t *ret_outside);

/* Whether a process has ended and how, as waitpid() says it. */
bool ar_tree_exit_of(int pidfd, int *ret_status);
bool ar_tree_has_ended(int pidfd);

void ar_tree_kill(int pidfd); /* -1 is fine */

/* Kills what is in these cgroups, where the kernel can. */
void ar_tree_kill_cgroup(const char *folder);

/* Whether the foreground of the command's terminal sleeps in a read of it. A hint: false also when it cannot
 * be known. */
bool ar_tree_reads_terminal(pid_t command);

#endif
