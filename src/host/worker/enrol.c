/* See enrol.h. */
#include "worker/enrol.h"

#include "buf.h"
#include "json.h"
#include "mem.h"
#include "transfer.h"
#include "url.h"

#include <string.h>

#define ANSWER_MAX 65536
#define CONNECT_MS 20000
#define ANSWER_MS 30000

struct ar_worker_enrolment {
	struct ar_transfer transfer;
	struct ar_transfer_pool *pool;
	struct ar_worker_enrol_options o;
	struct curl_slist *headers;
	char *url;
	struct ar_buf body, answer;
	bool is_canceled;
};

static bool on_body(struct ar_transfer *t, struct ar_str bytes)
{
	ar_buf_adds(&AR_CONTAINER_OF(t, struct ar_worker_enrolment, transfer)->answer, bytes);
	return true;
}

static void free_enrolment(struct ar_worker_enrolment *e)
{
	ar_transfer_pool_close(e->pool);
	curl_slist_free_all(e->headers);
	ar_free(e->url);
	ar_buf_fini(&e->body);
	if (e->answer.len)
		explicit_bzero(e->answer.p, e->answer.len);
	ar_buf_fini(&e->answer);
	ar_free(e);
}

/* A daemon's own words are shown, so that its operator knows what to do. */
static enum ar_status judge(struct ar_json v, int status, struct ar_worker_identity *ret,
			    struct ar_error *err)
{
	struct ar_str message = AR_STR("no reason given");

	if (status == 200 && ar_json_str(ar_json_get(v, "workerId"), &ret->id) &&
	    ar_json_str(ar_json_get(v, "token"), &ret->token) && ret->token.len <= AR_WORKER_TOKEN_MAX)
		return AR_OK;
	ar_json_str(ar_json_get(ar_json_get(v, "error"), "message"), &message);
	message = ar_str_sub(message, 0, 300);
	if (status >= 500 || status == 429 || status == 408)
		return ar_fail(err, AR_E_UNAVAILABLE, "the daemon does not enrol workers now: %.*s",
			       AR_STR_ARG(message));
	if (status == 401 || status == 403)
		return ar_fail(
			err, AR_E_REFUSED,
			"the daemon does not accept the enrolment token (%.*s). It works once and for an "
			"hour; create a worker again to get another",
			AR_STR_ARG(message));
	return ar_fail(err, AR_E_REFUSED, "the daemon does not enrol this worker (status %d): %.*s", status,
		       AR_STR_ARG(message));
}

static void on_end(struct ar_transfer *t, enum ar_transfer_end end, const char *why)
{
	struct ar_worker_enrolment *e = AR_CONTAINER_OF(t, struct ar_worker_enrolment, transfer);
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_worker_identity who = { 0 };
	struct ar_error err = { 0 };
	struct ar_json v;

	if (end != AR_TRANSFER_COMPLETE)
		ar_fail(&err, AR_E_UNAVAILABLE, "the daemon cannot be reached: %s", why);
	else if (ar_json_parse(parser, ar_buf_str(&e->answer), &v, NULL) != AR_OK)
		ar_fail(&err, AR_E_REFUSED, "the other end is no daemon that enrols workers (status %d)",
			ar_transfer_status(t));
	else
		judge(v, ar_transfer_status(t), &who, &err);
	if (!e->is_canceled)
		e->o.done(e->o.arg, err.status == AR_OK ? &who : NULL, &err);
	ar_json_parser_free(parser);
	if (!e->is_canceled)
		free_enrolment(e);
}

static void make_request(struct ar_worker_enrolment *e)
{
	struct ar_jw w = ar_jw(&e->body);
	struct ar_buf text = { 0 };
	size_t len = strlen(e->o.url);

	while (len && e->o.url[len - 1] == '/')
		len--;
	ar_buf_addf(&text, "%.*s/v1/enrol_worker", (int)len, e->o.url);
	e->url = ar_str_dup(ar_buf_str(&text));
	ar_buf_clear(&text);
	ar_buf_addf(&text, "Authorization: Bearer %.*s", AR_STR_ARG(e->o.token));
	ar_buf_addc(&text, '\0');
	e->headers = curl_slist_append(NULL, "Content-Type: application/json");
	e->headers = curl_slist_append(e->headers, text.p);
	explicit_bzero(text.p, text.len);
	ar_buf_fini(&text);
	ar_jw_open(&w);
	if (!ar_str_absent(e->o.labels))
		ar_jw_mraw(&w, "labels", e->o.labels);
	if (!ar_str_absent(e->o.info))
		ar_jw_mraw(&w, "info", e->o.info);
	ar_jw_close(&w);
}

enum ar_status ar_worker_enrol(uv_loop_t *loop, const struct ar_worker_enrol_options *o,
			       struct ar_worker_enrolment **ret, struct ar_error *err)
{
	static const struct ar_transfer_vtable v = { on_body, on_end };
	struct ar_worker_enrolment *e;
	struct ar_url url;

	if (!ar_url_parse(o->url, &url) || !ar_url_is_safe(o->url) || url.has_query)
		return ar_fail(err, AR_E_INVALID,
			       "'%.200s' cannot be joined: it must be https, or http to this machine",
			       o->url);
	e = ar_new0(sizeof *e);
	e->o = *o;
	make_request(e);
	e->pool = ar_transfer_pool_new(loop, &(struct ar_transfer_pool_options){ .tls = url.is_https,
										 .ca_file = o->ca_file });
	e->transfer = (struct ar_transfer){ .v = &v,
					    .url = e->url,
					    .headers = e->headers,
					    .body = ar_buf_str(&e->body),
					    .limits = { .connect_ms = CONNECT_MS,
							.first_byte_ms = ANSWER_MS,
							.idle_ms = ANSWER_MS,
							.total_ms = ANSWER_MS,
							.response_max = ANSWER_MAX } };
	ar_transfer_start(e->pool, &e->transfer);
	*ret = e;
	return AR_OK;
}

void ar_worker_enrol_cancel(struct ar_worker_enrolment *e)
{
	e->is_canceled = true;
	free_enrolment(e); /* the pool ends the transfer before it returns */
}
