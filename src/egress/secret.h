/* Secrets that never enter a sandbox: inside, a placeholder stands for each; on its way out, to the hosts
 * that it is for and nowhere else, it is replaced in the Authorization of a request. What goes through
 * CONNECT is not read, so nothing is replaced there. Pure. */
#ifndef AR_EGRESS_SECRET_H
#define AR_EGRESS_SECRET_H

#include "request.h"

#define AR_EGRESS_SECRET_HOSTS_MAX 16

struct ar_egress_secret {
	struct ar_str placeholder, value;
	struct ar_egress_rule hosts[AR_EGRESS_SECRET_HOSTS_MAX];
	size_t host_count;
};

/* In the head that the origin is to read. A request to another host keeps its placeholder, which is worth
 * nothing there. */
void ar_egress_secrets_fill(struct ar_egress_request *r, const struct ar_egress_secret *secrets,
			    size_t count);

#endif
