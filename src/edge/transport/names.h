/* Whom this server takes itself for, and whose pages may ask it. A page from elsewhere must not
 * reach us: neither by a name that was rebound to our address (Host) nor by a cross-site
 * request (Origin). Pure functions. */
#ifndef AR_TRANSPORT_NAMES_H
#define AR_TRANSPORT_NAMES_H

#include "carrier.h"
#include "message.h"

struct ar_tls_context;

struct ar_names {
	char *hosts; /* names beside those of this machine; blanks or commas between them */
	char *origins; /* pages of these may ask and read the answer */
	const struct ar_tls_context *certificate; /* names that it is for are ours; NULL: none */
};

/* Both texts may be NULL. AR_E_INVALID: not a list of names, or not one of origins like
 * https://console.example. */
AR_MUST_USE enum ar_status ar_names_init(struct ar_names *n, const char *hosts, const char *origins,
					 struct ar_error *err);
void ar_names_fini(struct ar_names *n);

/* Whether `host` (a Host header, an authority) names this server on the link of this source. */
bool ar_names_host(const struct ar_names *n, const struct ar_source *from, struct ar_str host);

/* Which web page makes a browser send the request, by Origin and Sec-Fetch-Site. */
enum ar_page {
	AR_PAGE_NONE, /* none that we have to guard against: a program, or the address was typed */
	/* one of http.origins, to exactly scheme, name and port; of this site or of none said */
	AR_PAGE_LISTED,
	AR_PAGE_LISTED_ELSEWHERE, /* one of http.origins that the browser calls another site or origin */
	AR_PAGE_NEAR, /* of our own address, or of this machine, and not listed */
	AR_PAGE_FOREIGN, /* any other, and `null` */
};

enum ar_page ar_names_page(const struct ar_names *n, const struct ar_source *from,
			   const struct ar_http_head *r);

/* The entry of the list that the request's Origin is, for the headers that let its page read;
 * absent: it is not in the list. */
struct ar_str ar_names_shared_with(const struct ar_names *n, const struct ar_http_head *r);

#endif
