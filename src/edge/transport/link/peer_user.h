/* Which user of this machine has the other end of a connection: the kernel's word, for unix sockets and for
 * loopback TCP. Owner: the loop thread. */
#ifndef AR_TRANSPORT_PEER_USER_H
#define AR_TRANSPORT_PEER_USER_H

#include "loopback.h"

#define AR_NO_USER ((unsigned)-1) /* no user has this id */

/* How the kernel is asked about TCP. Zero is valid: it is never asked, and every answer is AR_NO_USER. */
struct ar_peer_users {
	int diag; /* socket + 1; 0: none */
	uint32_t sequence;
};

void ar_peer_users_init(struct ar_peer_users *u);
void ar_peer_users_fini(struct ar_peer_users *u);

/* User of the socket that is bound to `there` and connected to `here`; both are of one family. AR_NO_USER:
 * the kernel does not say, the socket is in another network namespace, or its owner has closed it. */
unsigned ar_peer_user_of_tcp(struct ar_peer_users *u, const union ar_sockaddr *here,
			     const union ar_sockaddr *there);

/* User at the other end of a unix socket, and whether it is of this group. */
unsigned ar_peer_user_of_unix(int fd);
bool ar_peer_user_is_in_group(int fd, unsigned group);

#endif
