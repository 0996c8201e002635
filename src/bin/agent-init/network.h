/* The network inside: loopback, and where the plan says so the socket on which the proxy outside accepts. */
#ifndef AR_INIT_NETWORK_H
#define AR_INIT_NETWORK_H

#include "init.h"

/* With a network namespace: brings loopback up. With AR_PLAN_NET_PROXY: in->fds[AR_INIT_FD_PROXY] listens. */
int ar_network_set(struct ar_init *in);

#endif
