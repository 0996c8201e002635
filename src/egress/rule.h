/* Which hosts a process in a sandbox may reach. One function judges, whatever way the request came. Pure. */
#ifndef AR_EGRESS_RULE_H
#define AR_EGRESS_RULE_H

#include "str.h"

#include <netinet/in.h>

#define AR_EGRESS_HOST_MAX 254
#define AR_EGRESS_PORTS_MAX 8

struct ar_egress_rule {
	char host[AR_EGRESS_HOST_MAX]; /* canonical; "*.x" is every name under x, not x itself */
	uint16_t ports[AR_EGRESS_PORTS_MAX];
	size_t port_count; /* 0: 80 and 443 */
	bool is_private; /* its addresses may be private ones */
	char address[INET6_ADDRSTRLEN]; /* used instead of asking DNS; empty: DNS is asked */
};

/* A host in the one form that is compared: lower case, without the dot at its end, an address as inet_ntop
 * writes it. False: no name or address that means the same to everybody (other bytes, empty labels, numbers
 * that only some readers take for an address). */
AR_MUST_USE bool ar_egress_host(struct ar_str text, char out[AR_EGRESS_HOST_MAX]);

/* One rule from its text `host[:port[,port...]][@address][!]`, the mark at the end for private addresses. */
AR_MUST_USE bool ar_egress_rule_read(struct ar_str text, struct ar_egress_rule *ret);

/* The first rule that lets the canonical host and port through; NULL: none does. An address is let through
 * only by a rule that names it. */
const struct ar_egress_rule *ar_egress_find(const struct ar_egress_rule *rules, size_t count,
					    const char *host, uint16_t port);

#endif
