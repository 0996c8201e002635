/* See endpoint.h. */
#include "endpoint.h"

#include "buf.h"
#include "mem.h"

#include <curl/curl.h>

static size_t overlap(struct ar_str base, struct ar_str path)
{
	size_t n = 1;

	while (n < path.len && path.p[n] != '/')
		n++;
	return ar_str_ends(base, ar_str_sub(path, 0, n)) ? n : 0;
}

char *ar_endpoint_join(struct ar_str base, struct ar_str path)
{
	struct ar_buf url = { 0 };
	char *ret;

	ar_buf_adds(&url, base);
	ar_buf_adds(&url, ar_str_sub(path, overlap(base, path), path.len));
	ret = ar_str_dup(ar_buf_str(&url));
	ar_buf_fini(&url);
	return ret;
}

char *ar_endpoint_shown(const char *url)
{
	CURLU *parts = curl_url();
	char *text = NULL, *ret;

	if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK) {
		curl_url_set(parts, CURLUPART_USER, NULL, 0);
		curl_url_set(parts, CURLUPART_PASSWORD, NULL, 0);
		curl_url_get(parts, CURLUPART_URL, &text, 0);
	}
	ret = ar_str_dup(text ? ar_str_from(text) : AR_STR("the base URL is not a valid URL"));
	curl_free(text);
	curl_url_cleanup(parts);
	return ret;
}
