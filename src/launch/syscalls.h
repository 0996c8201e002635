/* System calls that a filter may refuse, in words: name, the arguments that matter, the side of the boundary
 * they belong to. */
#ifndef AR_LAUNCH_SYSCALLS_H
#define AR_LAUNCH_SYSCALLS_H

#include <stddef.h>
#include <stdint.h>

/* Those of six arguments that tell one attempt from another; pointers never do. The others are 0. */
void ar_syscall_key(int nr, const uint64_t args[6], uint64_t ret_key[3]);

/* `socket(AF_VSOCK, SOCK_STREAM, 0)`, without a character that JSON would escape. Returns the boundary:
 * network, process or permission. */
const char *ar_syscall_describe(int nr, const uint64_t key[3], char *out, size_t room);

#endif
