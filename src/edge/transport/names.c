/* The rules for Host and Origin. An address cannot be rebound, a name of our own certificate cannot be
 * had by another over TLS; every other name has to be in the list. Pure functions, any thread. */
#include "names.h"
#include "loopback.h"
#include "mem.h"
#include "tls/tls_context.h"

#include <string.h>
#include <strings.h>

#define MAX_ENTRY 256
#define SEPARATORS " ,\t\n"

/* The next entry of a list; empty at its end. */
static struct ar_str next_entry(const char **at)
{
	const char *p = *at + strspn(*at, SEPARATORS);
	size_t len = strcspn(p, SEPARATORS);

	*at = p + len;
	return (struct ar_str){ p, len };
}

static bool is_same(struct ar_str a, struct ar_str b)
{
	return a.len == b.len && strncasecmp(a.p, b.p, a.len) == 0;
}

static struct ar_str find_entry(const char *list, struct ar_str wanted)
{
	const char *at = list ? list : "";

	for (struct ar_str e = next_entry(&at); e.len; e = next_entry(&at)) {
		if (is_same(e, wanted))
			return e;
	}
	return AR_STR_NONE;
}

/* `https://name`, also with a port; nothing behind it. */
static bool split_origin(struct ar_str text, struct ar_authority *ret, bool *ret_is_tls)
{
	struct ar_str scheme, rest = ar_str_split(text, ':', &scheme);

	*ret_is_tls = ar_is_word(scheme, "https");
	if (!*ret_is_tls && !ar_is_word(scheme, "http"))
		return false;
	if (ar_str_absent(rest) || !ar_str_starts(rest, AR_STR("//")) ||
	    memchr(rest.p + 2, '/', rest.len - 2))
		return false;
	return ar_authority_parse(ar_str_sub(rest, 2, rest.len), ret);
}

static enum ar_status check_entry(struct ar_str e, bool is_origin, struct ar_error *err)
{
	struct ar_authority a;
	bool is_tls;

	if (e.len > MAX_ENTRY)
		return ar_fail(err, AR_E_INVALID, "a name in http.%s is longer than %d bytes",
			       is_origin ? "origins" : "hosts", MAX_ENTRY);
	if (is_origin && !split_origin(e, &a, &is_tls))
		return ar_fail(err, AR_E_INVALID,
			       "http.origins: '%.*s' is not an origin; write it as https://console.example",
			       AR_STR_ARG(e));
	if (!is_origin && (!ar_authority_parse(e, &a) || a.has_port))
		return ar_fail(err, AR_E_INVALID,
			       "http.hosts: '%.*s' is not a name; write it without scheme and port",
			       AR_STR_ARG(e));
	return AR_OK;
}

static enum ar_status check_list(const char *list, bool is_origin, struct ar_error *err)
{
	for (struct ar_str e = next_entry(&list); e.len; e = next_entry(&list)) {
		enum ar_status st = check_entry(e, is_origin, err);

		if (st != AR_OK)
			return st;
	}
	return AR_OK;
}

enum ar_status ar_names_init(struct ar_names *n, const char *hosts, const char *origins, struct ar_error *err)
{
	enum ar_status st = hosts ? check_list(hosts, false, err) : AR_OK;

	if (st == AR_OK && origins)
		st = check_list(origins, true, err);
	if (st != AR_OK)
		return st;
	n->hosts = ar_str_dup(ar_str_from(hosts ? hosts : ""));
	n->origins = ar_str_dup(ar_str_from(origins ? origins : ""));
	return AR_OK;
}

void ar_names_fini(struct ar_names *n)
{
	ar_free(n->hosts);
	ar_free(n->origins);
}

bool ar_names_host(const struct ar_names *n, const struct ar_source *from, struct ar_str host)
{
	struct ar_authority a;
	union ar_sockaddr address;

	if (!ar_authority_parse(host, &a))
		return false;
	if (ar_loopback_address(&a, &address) || !ar_str_absent(find_entry(n->hosts, a.host)))
		return true;
	if (!from->is_tls)
		return false;
	return ar_authority_address(&a, &address) ||
	       (n->certificate && ar_tls_context_covers(n->certificate, a.host));
}

/* That the host is ours has been judged. */
static bool is_near(const struct ar_source *from, const struct ar_http_head *r)
{
	struct ar_authority page, us;
	bool is_tls;

	if (!split_origin(r->origin, &page, &is_tls))
		return false;
	if ((from->is_loopback || from->is_unix) && ar_loopback_origin(r->origin))
		return true;
	return is_tls == from->is_tls && ar_authority_parse(r->host, &us) && is_same(page.host, us.host) &&
	       page.port == us.port;
}

/* `none` is said of what a person typed. A word that is not known is taken for the worst. */
static bool is_elsewhere(struct ar_str site)
{
	return !ar_str_absent(site) && !ar_is_word(site, "same-origin") && !ar_is_word(site, "none");
}

enum ar_page ar_names_page(const struct ar_names *n, const struct ar_source *from,
			   const struct ar_http_head *r)
{
	bool is_cross = is_elsewhere(r->fetch_site);

	if (ar_str_absent(r->origin))
		return is_cross ? AR_PAGE_FOREIGN : AR_PAGE_NONE;
	if (!ar_str_absent(find_entry(n->origins, r->origin))) {
		/* Browsers do not say it of a WebSocket. */
		is_cross = is_cross || (r->is_upgrade && ar_str_absent(r->fetch_site));
		return is_cross ? AR_PAGE_LISTED_ELSEWHERE : AR_PAGE_LISTED;
	}
	return !is_cross && is_near(from, r) ? AR_PAGE_NEAR : AR_PAGE_FOREIGN;
}

struct ar_str ar_names_shared_with(const struct ar_names *n, const struct ar_http_head *r)
{
	return ar_str_absent(r->origin) ? AR_STR_NONE : find_entry(n->origins, r->origin);
}
