/* The kernel's audit as this program changes it: its state, and rules that carry our key. One socket, one
 * answer at a time. */
#ifndef AR_AUDIT_KERNEL_H
#define AR_AUDIT_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ar_audit_state {
	uint32_t enabled; /* 2: locked until the next boot */
	uint32_t backlog;
	pid_t daemon; /* of an auditd; 0: none */
};

struct ar_audit_rules {
	unsigned ours, others;
};

/* All: 0, or -1 with errno. */
int ar_kernel_open(void); /* the socket, instead of 0 */
int ar_kernel_state(int fd, struct ar_audit_state *ret);
int ar_kernel_set(int fd, uint32_t enabled, uint32_t backlog);
int ar_kernel_count(int fd, struct ar_audit_rules *ret);
int ar_kernel_add(int fd, uint32_t first, uint32_t last); /* for users who logged in as one of these ids */
int ar_kernel_remove(int fd); /* every rule with our key */

#endif
