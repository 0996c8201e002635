/* See post.h. */
#include "post.h"
#include "address.h"
#include "clock.h"
#include "header_value.h"
#include "mem.h"
#include "sign.h"

#include <arpa/inet.h>
#include <stdio.h>

#define ANSWER_MAX ((uint64_t)64 * 1024) /* of what nobody reads */
#define SECOND 1000000
#define KEPT_CONNECTIONS 4

struct ar_webhook_poster {
	struct ar_transfer_pool *pool;
	char *ca_file;
};

struct ar_webhook_poster *ar_webhook_poster_new(uv_loop_t *loop, bool is_tls, const char *ca_file)
{
	struct ar_webhook_poster *p = ar_new0(sizeof(*p));

	p->ca_file = ca_file && *ca_file ? ar_str_dup(ar_str_from(ca_file)) : NULL;
	p->pool = ar_transfer_pool_new(loop, &(struct ar_transfer_pool_options){ .tls = is_tls,
										 .ca_file = p->ca_file,
										 .kept_connections =
											 KEPT_CONNECTIONS });
	return p;
}

void ar_webhook_poster_close(struct ar_webhook_poster *p)
{
	ar_transfer_pool_close(p->pool);
	ar_free(p->ca_file);
	ar_free(p);
}

/* What the receiver says beside its status is of no interest. */
static bool on_body(struct ar_transfer *t AR_UNUSED, struct ar_str bytes AR_UNUSED)
{
	return true;
}

/* Retry-After of an answer that asks to wait (429, 503). */
static int64_t retry_after(const struct ar_transfer *t, int status)
{
	struct ar_clock *clock = ar_clock_system();
	struct ar_str after =
		status == 429 || status == 503 ? ar_transfer_header(t, "Retry-After") : AR_STR_NONE;

	return ar_header_retry_after_ms(after, clock->wall(clock), AR_WEBHOOK_PAUSE_MAX_MS);
}

static void on_end(struct ar_transfer *t, enum ar_transfer_end end, const char *why)
{
	struct ar_webhook_post *p = AR_CONTAINER_OF(t, struct ar_webhook_post, transfer);
	int status = ar_transfer_status(t);
	bool is_answer = end == AR_TRANSFER_COMPLETE || end == AR_TRANSFER_TOO_LARGE;
	char text[64];

	snprintf(text, sizeof text, "the receiver answered with status %d", status);
	curl_slist_free_all(t->headers);
	ar_arena_fini(&p->arena);
	p->done(p, &(struct ar_webhook_outcome){ .is_delivered = is_answer && status >= 200 && status < 300,
						 .is_cancelled = end == AR_TRANSFER_CANCELLED,
						 .http = is_answer ? status : 0,
						 .retry_after_ms = is_answer ? retry_after(t, status) : 0,
						 .reason = is_answer ? text : why });
}

static void add_header(struct ar_webhook_post *p, struct ar_str line)
{
	p->transfer.headers = curl_slist_append(p->transfer.headers, line.p);
}

static void add_headers(struct ar_webhook_post *p)
{
	struct ar_clock *clock = ar_clock_system();
	int64_t now = clock->wall(clock) / SECOND;
	struct ar_str signature;

	add_header(p, ar_arena_fmt(&p->arena, "Content-Type: %s",
				   p->content_type ? p->content_type : "application/json"));
	add_header(p, AR_STR("Expect:"));
	add_header(p, AR_STR("User-Agent: agentd"));
	add_header(p, ar_arena_fmt(&p->arena, "webhook-id: %.*s", AR_STR_ARG(p->id)));
	add_header(p, ar_arena_fmt(&p->arena, "webhook-timestamp: %lld", (long long)now));
	if (!ar_str_absent(p->trace_parent))
		add_header(p, ar_arena_fmt(&p->arena, "traceparent: %.*s", AR_STR_ARG(p->trace_parent)));
	if (!ar_str_absent(p->authorization))
		add_header(p, ar_arena_fmt(&p->arena, "Authorization: %.*s", AR_STR_ARG(p->authorization)));
	if (!ar_str_absent(p->token))
		add_header(p,
			   ar_arena_fmt(&p->arena, "X-A2A-Notification-Token: %.*s", AR_STR_ARG(p->token)));
	if (ar_str_absent(p->key))
		return;
	signature = ar_webhook_signature(p->key, p->id, now, p->body, &p->arena);
	add_header(p, ar_arena_fmt(&p->arena, "webhook-signature: %.*s", AR_STR_ARG(signature)));
}

static const char *fault_of(const struct sockaddr *address)
{
	return ar_egress_address_fault(address, false);
}

const char *ar_webhook_address_fault(const char *figures)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, figures, &v4.sin_addr) == 1)
		return fault_of((const struct sockaddr *)&v4);
	if (inet_pton(AF_INET6, figures, &v6.sin6_addr) == 1)
		return fault_of((const struct sockaddr *)&v6);
	return NULL;
}

void ar_webhook_post_start(struct ar_webhook_poster *poster, struct ar_webhook_post *p)
{
	static const struct ar_transfer_vtable vtable = { .on_body = on_body, .on_end = on_end };
	uint32_t ms = p->timeout_ms;

	p->transfer = (struct ar_transfer){ .v = &vtable,
					    .url = ar_arena_str(&p->arena, p->url).p,
					    .body = p->body,
					    .fault_of = p->is_public ? fault_of : NULL,
					    .limits = { ms, ms, ms, ms, ANSWER_MAX } };
	add_headers(p);
	ar_transfer_start(poster->pool, &p->transfer);
}
