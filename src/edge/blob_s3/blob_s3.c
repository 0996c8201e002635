/* See the header. Blocking transfers, one easy handle each, kept for the next call: a handle has the
 * connection. Any thread; spare handles are taken and given back as a whole. */
#include "blob_s3.h"

#include "buf.h"
#include "hash.h"
#include "mem.h"
#include "url.h"

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define SPARE 4 /* handles kept: the store has two threads */
#define ANSWER_MAX 4096 /* of an answer that is not the value */
#define CONNECT_MS 5000
#define TOTAL_MS 60000

struct s3 {
	struct ar_objects objects;
	struct ar_str base; /* up to the name */
	char *user, *sigv4;
	long connect_ms, total_ms;
	_Atomic(CURL *) spare[SPARE];
};

/* One exchange. */
struct exchange {
	struct ar_buf answer;
	size_t max;
	bool is_over; /* it had more than max */
	struct curl_slist *headers;
	long status;
	char error[CURL_ERROR_SIZE];
};

static struct s3 *s3_of(struct ar_objects *o)
{
	return AR_CONTAINER_OF(o, struct s3, objects);
}

static CURL *acquire_handle(struct s3 *s)
{
	for (size_t i = 0; i < SPARE; i++) {
		CURL *c = atomic_exchange(&s->spare[i], NULL);

		if (!c)
			continue;
		curl_easy_reset(c); /* keeps its connections */
		return c;
	}
	return curl_easy_init();
}

static void release_handle(struct s3 *s, CURL *c)
{
	for (size_t i = 0; i < SPARE; i++) {
		CURL *none = NULL;

		if (atomic_compare_exchange_strong(&s->spare[i], &none, c))
			return;
	}
	curl_easy_cleanup(c);
}

static size_t on_bytes(char *p, size_t size, size_t count, void *arg)
{
	struct exchange *x = arg;
	size_t len = size * count;

	if (len > x->max - x->answer.len) {
		x->is_over = true;
		return 0;
	}
	ar_buf_add(&x->answer, p, len);
	return len;
}

/* S3 wants the hash of the body said and signed; libcurl does not say it by itself. Only headers that
 * are sent may be in here: libcurl also signs those that are given empty to leave them out. */
static struct curl_slist *headers_for(struct ar_str body)
{
	struct ar_hash hash = ar_hash_of(body);
	char line[32 + 2 * AR_HASH_LEN] = "x-amz-content-sha256: ";
	size_t len = strlen(line);
	struct curl_slist *headers;

	for (size_t i = 0; i < sizeof hash.b; i++, len += 2)
		snprintf(line + len, sizeof line - len, "%02x", hash.b[i]);
	headers = curl_slist_append(NULL, line);
	return curl_slist_append(headers, "Content-Type: application/octet-stream");
}

static void prepare(struct s3 *s, CURL *c, const char *url, struct exchange *x)
{
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_PROXY, ar_url_proxy(url));
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_AWS_SIGV4, s->sigv4);
	curl_easy_setopt(c, CURLOPT_USERPWD, s->user);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, s->connect_ms);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, s->total_ms);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, x->headers);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, x->error);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, x);
}

/* AR_E_IO when no answer came; x->status says what came otherwise. */
static enum ar_status perform(struct s3 *s, CURL *c, struct exchange *x, struct ar_error *err)
{
	CURLcode rc = curl_easy_perform(c);

	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &x->status);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, NULL);
	release_handle(s, c);
	curl_slist_free_all(x->headers);
	if (rc == CURLE_OK || x->is_over)
		return AR_OK;
	return ar_fail(err, AR_E_IO, "object storage: %.160s; check blob.s3_url and that it runs",
		       x->error[0] ? x->error : curl_easy_strerror(rc));
}

static const char *advice(long status)
{
	if (status == 401 || status == 403)
		return "check blob.s3_access_key, blob.s3_secret_key and blob.s3_region";
	if (status == 404)
		return "check the bucket in blob.s3_url";
	return "try again in a moment";
}

static enum ar_status fail_status(const struct exchange *x, const char *what, struct ar_error *err)
{
	return ar_fail(err, AR_E_IO, "object storage: %s was answered with status %ld; %s", what, x->status,
		       advice(x->status));
}

static char *url_of(const struct s3 *s, struct ar_str name)
{
	struct ar_buf url = { 0 };

	ar_buf_adds(&url, s->base);
	ar_buf_adds(&url, name);
	ar_buf_addc(&url, '\0');
	return url.p;
}

static void set_body(CURL *c, struct ar_str bytes)
{
	curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, "PUT");
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, bytes.p);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes.len);
}

static enum ar_status s3_put(struct ar_objects *o, struct ar_str name, struct ar_str bytes,
			     struct ar_error *err)
{
	struct s3 *s = s3_of(o);
	struct exchange x = { .max = ANSWER_MAX, .headers = headers_for(bytes) };
	char *url = url_of(s, name);
	CURL *c = acquire_handle(s);
	enum ar_status st;

	prepare(s, c, url, &x);
	set_body(c, bytes);
	st = perform(s, c, &x, err);
	if (!st && (x.status < 200 || x.status > 299))
		st = fail_status(&x, "a write", err);
	ar_buf_fini(&x.answer);
	ar_free(url);
	return st;
}

static enum ar_status check_get(const struct exchange *x, struct ar_error *err)
{
	if (x->is_over)
		return ar_fail(err, AR_E_LIMIT, "object storage: an object is larger than what was stored");
	if (x->status == 404)
		return ar_fail(err, AR_E_NOT_FOUND, "object storage: an object does not exist");
	return x->status == 200 ? AR_OK : fail_status(x, "a read", err);
}

static enum ar_status s3_get(struct ar_objects *o, struct ar_str name, size_t max, struct ar_arena *a,
			     struct ar_str *ret, struct ar_error *err)
{
	struct s3 *s = s3_of(o);
	struct exchange x = { .max = max > ANSWER_MAX ? max : ANSWER_MAX,
			      .headers = headers_for(AR_STR("")) };
	char *url = url_of(s, name);
	CURL *c = acquire_handle(s);
	enum ar_status st;

	prepare(s, c, url, &x);
	st = perform(s, c, &x, err);
	if (!st)
		st = check_get(&x, err);
	if (!st)
		*ret = ar_arena_str(a, ar_buf_str(&x.answer));
	ar_buf_fini(&x.answer);
	ar_free(url);
	return st;
}

static enum ar_status s3_remove(struct ar_objects *o, struct ar_str name, struct ar_error *err)
{
	struct s3 *s = s3_of(o);
	struct exchange x = { .max = ANSWER_MAX, .headers = headers_for(AR_STR("")) };
	char *url = url_of(s, name);
	CURL *c = acquire_handle(s);
	enum ar_status st;

	prepare(s, c, url, &x);
	curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, "DELETE");
	st = perform(s, c, &x, err);
	if (!st && x.status != 404 && (x.status < 200 || x.status > 299))
		st = fail_status(&x, "a removal", err);
	ar_buf_fini(&x.answer);
	ar_free(url);
	return st;
}

static void s3_close(struct ar_objects *o)
{
	struct s3 *s = s3_of(o);

	for (size_t i = 0; i < SPARE; i++)
		curl_easy_cleanup(atomic_load(&s->spare[i]));
	ar_free((void *)s->base.p);
	ar_free(s->user);
	ar_free(s->sigv4);
	ar_free(s);
}

static const struct ar_objects_vtable s3_vtable = { s3_put, s3_get, s3_remove, s3_close };

/* scheme://host/bucket: the bucket must be there, or names would be buckets. */
static bool is_bucket_url(const char *url)
{
	struct ar_url u;

	return ar_url_parse(url, &u) && u.has_path && !u.has_query && !u.has_user;
}

static char *joined(const char *a, const char *b, const char *c)
{
	struct ar_buf text = { 0 };

	ar_buf_addf(&text, "%s%s%s%c", a, b, c, '\0');
	return text.p;
}

enum ar_status ar_blob_s3_open(const struct ar_blob_s3_options *o, struct ar_objects **ret,
			       struct ar_error *err)
{
	bool has_slash = *o->url && o->url[strlen(o->url) - 1] == '/';
	struct s3 *s;

	if (!is_bucket_url(o->url))
		return ar_fail(err, AR_E_INVALID,
			       "blob.s3_url is not the address of a bucket, such as http://host:9000/bucket");
	curl_global_init(CURL_GLOBAL_DEFAULT);
	s = ar_new0(sizeof *s);
	s->objects.v = &s3_vtable;
	s->base = ar_str_from(joined(o->url, has_slash ? "" : "/", o->prefix ? o->prefix : ""));
	s->user = joined(o->access_key, ":", o->secret_key);
	s->sigv4 = joined("aws:amz:", o->region, ":s3");
	s->connect_ms = o->connect_ms ? (long)o->connect_ms : CONNECT_MS;
	s->total_ms = o->total_ms ? (long)o->total_ms : TOTAL_MS;
	*ret = &s->objects;
	return AR_OK;
}
