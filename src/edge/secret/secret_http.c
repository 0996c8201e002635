/* See secret_priv.h. One GET; no redirect is followed, certificates are verified, and the store of this
 * machine is asked through no proxy. */
#include "secret_priv.h"

#include "clock.h"
#include "url.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

struct asking {
	const struct ar_secret_order *order;
	struct ar_buf answer;
	bool is_too_large;
};

static size_t on_bytes(char *bytes, size_t size, size_t count, void *arg)
{
	struct asking *a = arg;

	a->is_too_large = a->answer.len + size * count > AR_SECRET_ANSWER_MAX;
	if (a->is_too_large)
		return 0;
	ar_buf_add(&a->answer, bytes, size * count);
	return size * count;
}

static int on_progress(void *arg, curl_off_t a AR_UNUSED, curl_off_t b AR_UNUSED, curl_off_t c AR_UNUSED,
		       curl_off_t d AR_UNUSED)
{
	const struct asking *asking = arg;

	return ar_secret_check_time(asking->order, NULL) != AR_OK;
}

static void prepare(CURL *c, struct asking *a, struct curl_slist *headers)
{
	const struct ar_secret_source *s = a->order->source;
	ar_usec left = a->order->deadline - ar_clock_system()->mono(ar_clock_system());

	curl_easy_setopt(c, CURLOPT_URL, s->name);
	curl_easy_setopt(c, CURLOPT_PROXY, ar_url_proxy(s->name));
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
	if (*s->ca_file)
		curl_easy_setopt(c, CURLOPT_CAINFO, s->ca_file);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, left > 1000 ? (long)(left / 1000) : 1L);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, a);
	curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(c, CURLOPT_XFERINFODATA, a);
}

static enum ar_status fail_call(const struct asking *a, CURLcode rc, struct ar_error *err)
{
	if (a->is_too_large)
		return ar_fail(err, AR_E_LIMIT, "the store answers with more than %u bytes",
			       AR_SECRET_ANSWER_MAX);
	if (ar_secret_check_time(a->order, err) != AR_OK)
		return err->status;
	if (rc == CURLE_OPERATION_TIMEDOUT)
		return ar_fail(err, AR_E_TIMEOUT, "the store does not answer within %d seconds",
			       AR_SECRET_MS / 1000);
	return ar_fail(err, AR_E_IO, "the store cannot be reached: %s", curl_easy_strerror(rc));
}

static enum ar_status fail_status(long status, struct ar_error *err)
{
	const char *next = "check the address";

	if (status >= 300 && status < 400)
		next = "a redirect is not followed; name the address that it leads to";
	else if (status == 401 || status == 403)
		next = "check the token and what it may read";
	else if (status >= 500)
		next = "check whether the store is sealed or overloaded";
	return ar_fail(err, AR_E_IO, "the store answers HTTP %ld; %s", status, next);
}

static struct curl_slist *headers_of(const struct ar_secret_order *o)
{
	AR_AUTO(ar_buf_fini) struct ar_buf line = { 0 };

	if (ar_str_absent(o->token))
		return NULL;
	ar_buf_addf(&line, "%s: %.*s%c", o->source->header, AR_STR_ARG(o->token), '\0');
	return curl_slist_append(NULL, line.p);
}

static bool is_one_line(struct ar_str token)
{
	for (size_t i = 0; i < token.len; i++) {
		if ((unsigned char)token.p[i] < ' ' || token.p[i] == 0x7f)
			return false;
	}
	return true;
}

enum ar_status ar_secret_fetch(const struct ar_secret_order *o, struct ar_buf *out, struct ar_error *err)
{
	struct asking a = { .order = o };
	struct curl_slist *headers;
	enum ar_status st;
	CURLcode rc;
	long status = 0;
	CURL *c;

	if (!is_one_line(o->token))
		return ar_fail(err, AR_E_INVALID,
			       "the token for the store has bytes that are not valid in a header");
	curl_global_init(CURL_GLOBAL_DEFAULT);
	headers = headers_of(o);
	c = curl_easy_init();
	AR_ASSERT(c);
	prepare(c, &a, headers);
	rc = curl_easy_perform(c);
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(c);
	curl_slist_free_all(headers);
	if (rc != CURLE_OK)
		st = fail_call(&a, rc, err);
	else if (status != 200)
		st = fail_status(status, err);
	else if (*o->source->field)
		st = ar_secret_answer(ar_buf_str(&a.answer), o->source->field, out, err);
	else
		st = (ar_buf_adds(out, ar_buf_str(&a.answer)), AR_OK);
	if (a.answer.p)
		explicit_bzero(a.answer.p, a.answer.len);
	ar_buf_fini(&a.answer);
	return st;
}
