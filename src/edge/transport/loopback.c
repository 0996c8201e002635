/* Recognises loopback names and addresses. A page from elsewhere that was rebound to 127.0.0.1 still sends
 * its own name in Host and Origin, which identifies it. Pure functions, any thread. */
#include "loopback.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static bool parse_port(struct ar_str text, struct ar_authority *ret)
{
	uint64_t port;

	if (text.len > 5 || !ar_str_to_u64(text, &port) || port > UINT16_MAX)
		return false;
	ret->has_port = true;
	ret->port = (uint16_t)port;
	return true;
}

bool ar_authority_parse(struct ar_str text, struct ar_authority *ret)
{
	struct ar_str rest;

	*ret = (struct ar_authority){ 0 };
	if (ar_str_empty(text))
		return false;
	if (text.p[0] == '[') {
		ret->is_v6 = true;
		rest = ar_str_split(ar_str_sub(text, 1, text.len), ']', &ret->host);
		if (ar_str_absent(rest) || (rest.len && rest.p[0] != ':'))
			return false;
		return !rest.len || parse_port(ar_str_sub(rest, 1, rest.len), ret);
	}
	rest = ar_str_split(text, ':', &ret->host);
	if (ar_str_empty(ret->host))
		return false;
	return ar_str_absent(rest) || parse_port(rest, ret);
}

static bool is_localhost(struct ar_str host)
{
	return host.len == 9 && strncasecmp(host.p, "localhost", 9) == 0;
}

bool ar_authority_address(const struct ar_authority *a, union ar_sockaddr *ret)
{
	char text[INET6_ADDRSTRLEN];

	memset(ret, 0, sizeof *ret);
	if (a->host.len >= sizeof text || memchr(a->host.p, 0, a->host.len))
		return false;
	memcpy(text, a->host.p, a->host.len);
	text[a->host.len] = 0;
	if (a->is_v6) {
		ret->v6.sin6_family = AF_INET6;
		ret->v6.sin6_port = htons(a->port);
		return inet_pton(AF_INET6, text, &ret->v6.sin6_addr) == 1;
	}
	ret->v4.sin_family = AF_INET;
	ret->v4.sin_port = htons(a->port);
	if (is_localhost(a->host)) {
		ret->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return true;
	}
	return inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1;
}

bool ar_sockaddr_is_loopback(const union ar_sockaddr *sa)
{
	if (sa->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&sa->v6.sin6_addr);
	return ntohl(sa->v4.sin_addr.s_addr) >> 24 == 127;
}

bool ar_loopback_address(const struct ar_authority *a, union ar_sockaddr *ret)
{
	return ar_authority_address(a, ret) && ar_sockaddr_is_loopback(ret);
}

bool ar_loopback_host(struct ar_str host)
{
	struct ar_authority a;
	union ar_sockaddr address;

	return ar_authority_parse(host, &a) && ar_loopback_address(&a, &address);
}

bool ar_loopback_origin(struct ar_str origin)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (size_t i = 0; i < AR_ARRAY_LEN(schemes); i++) {
		struct ar_str scheme = ar_str_from(schemes[i]);

		if (ar_str_starts(origin, scheme))
			return ar_loopback_host(ar_str_sub(origin, scheme.len, origin.len));
	}
	return false;
}
