/* A handler behind an URL: the document is posted, 200 answers, everything else failed. Not repeated,
 * not redirected. Ending what is open is left to the pool of transfers. Loop thread only. */
#include "http.h"

#include "buf.h"
#include "mem.h"

#include <stdio.h>

#define STATUS_ANSWERED 200

struct request {
	struct ar_transfer transfer;
	struct ar_hook_run *run;
	struct ar_buf said;
	size_t received; /* `said` has the first of it */
	char *url;
	struct ar_error trouble;
};

static bool on_body(struct ar_transfer *t, struct ar_str bytes)
{
	struct request *q = AR_CONTAINER_OF(t, struct request, transfer);

	size_t room = AR_HOOK_OUTPUT_MAX - q->said.len;

	q->received += bytes.len;
	ar_buf_adds(&q->said, ar_str_sub(bytes, 0, room));
	return q->received <= AR_HOOK_COUNTED_MAX;
}

static bool is_too_long(const struct request *q)
{
	return q->received > AR_HOOK_OUTPUT_MAX;
}

/* How a transfer that ended before a whole response came reads. */
static enum ar_hook_outcome read_verdict(struct request *q, enum ar_transfer_end end, const char *why)
{
	int status = ar_transfer_status(&q->transfer);

	if (end == AR_TRANSFER_CANCELLED)
		return AR_HOOK_CANCELLED;
	if (end == AR_TRANSFER_TIMEOUT)
		return AR_HOOK_TIMEOUT;
	if (end == AR_TRANSFER_COMPLETE && status == STATUS_ANSWERED && !is_too_long(q))
		return AR_HOOK_ANSWERED;
	if (end == AR_TRANSFER_COMPLETE && status != STATUS_ANSWERED)
		ar_fail(&q->trouble, AR_E_IO, "the endpoint answered with status %d instead of 200", status);
	else if (end == AR_TRANSFER_COMPLETE)
		ar_fail(&q->trouble, AR_E_LIMIT,
			"the endpoint answered with %zu bytes, and may answer with %zu", q->received,
			AR_HOOK_OUTPUT_MAX);
	else if (end == AR_TRANSFER_STOPPED || end == AR_TRANSFER_TOO_LARGE)
		ar_fail(&q->trouble, AR_E_LIMIT, "the endpoint answered with more than %zu bytes",
			AR_HOOK_COUNTED_MAX);
	else
		ar_fail(&q->trouble, AR_E_IO, "the endpoint could not be called: %s", why);
	return AR_HOOK_FAILED;
}

static void on_end(struct ar_transfer *t, enum ar_transfer_end end, const char *why)
{
	struct request *q = AR_CONTAINER_OF(t, struct request, transfer);
	struct ar_hook_run *run = q->run;
	struct ar_hook_result result = { .outcome = read_verdict(q, end, why) };

	if (result.outcome == AR_HOOK_ANSWERED)
		result.output = ar_buf_str(&q->said);
	if (result.outcome == AR_HOOK_FAILED) {
		result.message = ar_str_from(q->trouble.msg);
		result.output = is_too_long(q) ? ar_buf_str(&q->said) : AR_STR_NONE;
		result.size = is_too_long(q) ? (int64_t)q->received : 0;
	}
	run->runner_state = NULL;
	run->on_done(run, &result);
	curl_slist_free_all(t->headers);
	ar_buf_fini(&q->said);
	ar_free(q->url);
	ar_free(q);
}

static const struct ar_transfer_vtable vtable = { .on_body = on_body, .on_end = on_end };

/* One deadline for the whole exchange; its parts have none of their own. */
static struct ar_transfer_limits limits_of(const struct ar_hook_run *r)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec left = r->deadline - clock->mono(clock);
	uint32_t ms = left <= 0				   ? 0
		      : left >= (ar_usec)UINT32_MAX * 1000 ? UINT32_MAX
							   : (uint32_t)(left / 1000) + 1;

	return (struct ar_transfer_limits){ ms, ms, ms, ms, AR_HOOK_COUNTED_MAX };
}

static struct curl_slist *with_trace(struct curl_slist *list, struct ar_str trace_parent)
{
	char line[80];

	snprintf(line, sizeof(line), "traceparent: %.*s", AR_STR_ARG(trace_parent));
	return curl_slist_append(list, line);
}

void ar_hook_http_start(struct ar_transfer_pool *pool, struct ar_hook_run *r)
{
	struct request *q = ar_new0(sizeof(*q));

	q->run = r;
	q->url = ar_str_dup(r->handler->url);
	q->said.cap = AR_HOOK_OUTPUT_MAX;
	q->transfer.v = &vtable;
	q->transfer.url = q->url;
	q->transfer.headers = curl_slist_append(NULL, "Content-Type: application/json");
	q->transfer.headers = curl_slist_append(q->transfer.headers, "Accept: application/json");
	q->transfer.headers = curl_slist_append(q->transfer.headers, "Expect:");
	if (!ar_str_absent(r->trace_parent))
		q->transfer.headers = with_trace(q->transfer.headers, r->trace_parent);
	q->transfer.body = r->input;
	q->transfer.limits = limits_of(r);
	r->runner_state = q;
	ar_transfer_start(pool, &q->transfer);
}

void ar_hook_http_cancel(struct ar_hook_run *r)
{
	struct request *q = r->runner_state;

	ar_transfer_cancel(&q->transfer);
}
