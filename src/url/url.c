/* See url.h. libcurl writes an IPv4 address in four numbers, however it was given (0x7f000001, 127.1), and an
 * IPv6 address in brackets. Pure functions, any thread. */
#include "url.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool ar_url_is_loopback_address(const char *address)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, address, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, address, &v6) != 1)
		return false;
	return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

static bool is_loopback(const char *host)
{
	char text[INET6_ADDRSTRLEN];
	size_t len = strlen(host);

	if (host[0] != '[')
		return strcasecmp(host, "localhost") == 0 || ar_url_is_loopback_address(host);
	if (len < 2 || len - 2 >= sizeof text)
		return false;
	snprintf(text, sizeof text, "%.*s", (int)len - 2, host + 1);
	return ar_url_is_loopback_address(text);
}

static bool has_part(CURLU *u, CURLUPart part)
{
	char *text = NULL;
	bool has = curl_url_get(u, part, &text, 0) == CURLUE_OK;

	curl_free(text);
	return has;
}

static bool read_parts(CURLU *u, struct ar_url *ret)
{
	char *scheme = NULL, *host = NULL, *path = NULL;
	bool is_ok = curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
		     curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
		     curl_url_get(u, CURLUPART_PATH, &path, 0) == CURLUE_OK &&
		     (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);

	if (is_ok)
		*ret = (struct ar_url){
			.is_https = strcmp(scheme, "https") == 0,
			.is_loopback = is_loopback(host),
			.has_user = has_part(u, CURLUPART_USER) || has_part(u, CURLUPART_PASSWORD),
			.has_path = path[0] && path[1] && path[1] != '/',
			.has_query = has_part(u, CURLUPART_QUERY) || has_part(u, CURLUPART_FRAGMENT)
		};
	curl_free(scheme);
	curl_free(host);
	curl_free(path);
	return is_ok;
}

bool ar_url_parse(const char *url, struct ar_url *ret)
{
	CURLU *u = curl_url();
	bool is_ok = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK && read_parts(u, ret);

	curl_url_cleanup(u);
	return is_ok;
}

bool ar_url_host(const char *url, char *out, size_t size)
{
	CURLU *u = curl_url();
	char *host = NULL;
	size_t from, len = 0;

	if (u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK)
		curl_url_get(u, CURLUPART_HOST, &host, 0);
	from = host && host[0] == '[';
	len = host ? strlen(host) - 2 * from : 0;
	if (len && len < size)
		snprintf(out, size, "%.*s", (int)len, host + from);
	curl_free(host);
	curl_url_cleanup(u);
	return len && len < size;
}

const char *ar_url_proxy(const char *url)
{
	struct ar_url u;

	return ar_url_parse(url, &u) && u.is_loopback ? "" : NULL;
}

bool ar_url_is_safe(const char *url)
{
	struct ar_url u;

	return ar_url_parse(url, &u) && !u.has_user && (u.is_https || u.is_loopback);
}

static char *origin_of(const char *url)
{
	static const CURLUPart others[] = { CURLUPART_PATH, CURLUPART_QUERY, CURLUPART_FRAGMENT };
	CURLU *u = curl_url();
	char *text = NULL;

	if (u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK) {
		for (size_t i = 0; i < sizeof others / sizeof *others; i++)
			curl_url_set(u, others[i], NULL, 0);
		if (curl_url_get(u, CURLUPART_URL, &text, CURLU_DEFAULT_PORT) != CURLUE_OK)
			text = NULL;
	}
	curl_url_cleanup(u);
	return text;
}

bool ar_url_is_same_origin(const char *a, const char *b)
{
	struct ar_url first, second;
	char *left, *right;
	bool is_same;

	if (!ar_url_parse(a, &first) || !ar_url_parse(b, &second) || first.has_user || second.has_user)
		return false;
	left = origin_of(a);
	right = origin_of(b);
	is_same = left && right && strcasecmp(left, right) == 0;
	curl_free(left);
	curl_free(right);
	return is_same;
}
