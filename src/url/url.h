/* An http or https address as libcurl will read it. Code that decides by an address what may be
 * sent there asks here, and not the text: `http://127.0.0.1:x@host` is an address of `host`.
 * Pure functions, any thread. */
#ifndef AR_URL_URL_H
#define AR_URL_URL_H

#include "compiler.h"

#include <stdbool.h>
#include <stddef.h>

AR_BEGIN_DECLS

struct ar_url {
	bool is_https;
	bool is_loopback; /* the host is localhost, in 127.0.0.0/8 or ::1 */
	bool has_user; /* a user name or password stands before the host */
	bool has_path; /* more than slashes */
	bool has_query; /* or a fragment */
};

/* False: it is no http or https address. */
bool ar_url_parse(const char *url, struct ar_url *ret);

/* Its host as libcurl dials it: an IPv4 address in four numbers, an IPv6 address without brackets. False:
 * there is none, or it is longer than `size`. */
bool ar_url_host(const char *url, char *out, size_t size);

/* What CURLOPT_PROXY is to be for the address: "" (none) for this machine, whose traffic no proxy of the
 * environment may see; else NULL (libcurl's own choice). */
const char *ar_url_proxy(const char *url);

/* Whether what is sent there can be read or changed by nobody on the way: https, or this machine; and no user
 * name misleads the reader. */
bool ar_url_is_safe(const char *url);

/* Whether both have the same scheme, host and port, and no user name before the host. */
bool ar_url_is_same_origin(const char *a, const char *b);

/* Whether an address in figures, without brackets, is in 127.0.0.0/8, ::1, or one of the former written as
 * IPv6. */
bool ar_url_is_loopback_address(const char *address);

AR_END_DECLS

#endif
