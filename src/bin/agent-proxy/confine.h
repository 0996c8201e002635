/* The boundary of agent-proxy itself. It reads bytes that nobody vouches for, as the user of the daemon where
 * that is not root: a fault in it must not give that user's files, sockets or processes away. */
#ifndef AR_PROXY_CONFINE_H
#define AR_PROXY_CONFINE_H

#include <stdbool.h>

/* Landlock: nothing is read but what looking up names needs (the resolver's configuration, libraries),
 * nothing is written, made or run. Seccomp: no program, no child, no unix socket, no other process, none of
 * the kernel's wider interfaces. Before any thread is made. `was_root`: rights of root were given up before,
 * which stands in for Landlock where the kernel has none. False with the reason on stderr: nothing may be
 * served. */
bool ar_confine(bool was_root);

/* The resolver's configuration was replaced: the rules are for the file that was there at start, only a new
 * process can read the new one. */
bool ar_confine_is_outdated(void);

/* Attacks the boundary after ar_confine() and prints a line for each attempt: its name, and `refused` or
 * `open`. */
int ar_confine_probe(void);

#endif
