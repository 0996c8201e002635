/* What counts as "this machine" in an address, a Host header or an Origin. Pure functions. */
#ifndef AR_TRANSPORT_LOOPBACK_H
#define AR_TRANSPORT_LOOPBACK_H

#include "str.h"

#include <netinet/in.h>

#define AR_HOST_MAX 256 /* bytes of a host name with the zero behind it */

struct ar_authority {
	struct ar_str host; /* without brackets */
	bool is_v6; /* was in brackets */
	bool has_port;
	uint16_t port;
};

union ar_sockaddr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Splits `host[:port]` or `[v6][:port]`; false when it is neither. */
bool ar_authority_parse(struct ar_str text, struct ar_authority *ret);

/* The address of an authority whose host is written as one, or is `localhost`; false for every other name. */
bool ar_authority_address(const struct ar_authority *a, union ar_sockaddr *ret);

/* The address of an authority whose host is `localhost`, 127.0.0.0/8 or ::1; false for any other. */
bool ar_loopback_address(const struct ar_authority *a, union ar_sockaddr *ret);

bool ar_sockaddr_is_loopback(const union ar_sockaddr *sa);

/* Whether a Host header (or the authority of an absolute target) names this machine. */
bool ar_loopback_host(struct ar_str host);

/* Whether an Origin header names a page of this machine; "null" does not. */
bool ar_loopback_origin(struct ar_str origin);

#endif
