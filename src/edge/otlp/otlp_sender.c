/* See otlp_sender.h. The queue is a list of batches: the first is sent, the last is filled. */
#include "otlp_sender.h"
#include "clock.h"
#include "hash.h"
#include "header_value.h"
#include "mem.h"
#include "transfer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define QUEUE_BYTES ((size_t)16 * 1024 * 1024)
#define BATCH_BYTES ((size_t)1024 * 1024)
#define ANSWER_MAX ((uint64_t)64 * 1024)
#define ANSWER_READ ((size_t)4096) /* of it; the rest is text for people */
#define FIRST_PAUSE_MS 500
#define PAUSE_MAX_MS 30000
#define LIFE_MS 60000 /* of a batch from its first attempt on */
#define CLOSE_MS 2000
#define MS 1000 /* microseconds */

struct batch {
	struct ar_list node;
	struct ar_buf text; /* of the request; its end is written with the first attempt */
	struct ar_otlp_marks open;
	size_t count, counted; /* records; bytes that are in `bytes` of the sender */
	ar_usec due; /* monotonic: it goes out then, full or not */
	ar_usec expires; /* monotonic; 0: no attempt yet */
	unsigned attempts;
};

struct ar_otlp_sender {
	struct ar_transfer transfer;
	struct ar_transfer_pool *pool;
	const struct ar_otlp_source *source;
	struct curl_slist *headers;
	char *url, *ca_file;
	struct ar_list queue; /* struct batch; the first may be under way */
	size_t bytes; /* of all of them */
	size_t queue_max;
	uint32_t timeout_ms, interval_ms;
	struct ar_buf answer; /* to it, its beginning */
	uv_timer_t timer;
	ar_usec not_before; /* monotonic: the pause before the next attempt */
	bool is_under_way, is_closing, is_failing;
	ar_usec close_at;
	struct ar_otlp_counts counts;
	void (*on_trouble)(void *arg, const char *why);
	void *arg;
};

static void advance(struct ar_otlp_sender *s);

static ar_usec mono(void)
{
	return ar_clock_system()->mono(ar_clock_system());
}

static struct batch *first_of(struct ar_otlp_sender *s)
{
	return ar_list_empty(&s->queue) ? NULL : AR_CONTAINER_OF(s->queue.next, struct batch, node);
}

static struct batch *last_of(struct ar_otlp_sender *s)
{
	return ar_list_empty(&s->queue) ? NULL : AR_CONTAINER_OF(s->queue.prev, struct batch, node);
}

static void remove_first(struct ar_otlp_sender *s)
{
	struct batch *b = first_of(s);

	s->counts.queued -= b->count;
	s->bytes -= b->counted;
	ar_list_del(&b->node);
	ar_buf_fini(&b->text);
	ar_free(b);
}

static void drop_first(struct ar_otlp_sender *s, enum ar_otlp_drop why)
{
	s->counts.dropped[why] += first_of(s)->count;
	remove_first(s);
}

/* Said once, until it works again. */
static void report(struct ar_otlp_sender *s, bool is_failing, const char *why)
{
	if (s->is_failing != is_failing && s->on_trouble)
		s->on_trouble(s->arg, why);
	s->is_failing = is_failing;
}

/* ---- one request ---- */

static bool is_repeatable(enum ar_transfer_end end, int status)
{
	if (end != AR_TRANSFER_COMPLETE && end != AR_TRANSFER_TOO_LARGE)
		return end != AR_TRANSFER_CANCELLED;
	return status == 429 || status == 502 || status == 503 || status == 504;
}

static int64_t pause_ms(const struct ar_transfer *t, const struct batch *b, int status)
{
	struct ar_clock *clock = ar_clock_system();
	struct ar_str after =
		status == 429 || status == 503 ? ar_transfer_header(t, "Retry-After") : AR_STR_NONE;
	int64_t wanted = ar_header_retry_after_ms(after, clock->wall(clock), LIFE_MS);
	int64_t pause = FIRST_PAUSE_MS;
	uint8_t random;

	for (unsigned i = 1; i < b->attempts && pause < PAUSE_MAX_MS; i++)
		pause *= 2;
	if (pause > PAUSE_MAX_MS)
		pause = PAUSE_MAX_MS;
	ar_hash_draw(&random, 1);
	pause = pause / 2 + pause * random / 255; /* so that many senders do not come back together */
	return wanted > pause ? wanted : pause;
}

static void delivered(struct ar_otlp_sender *s)
{
	size_t count = first_of(s)->count;
	uint64_t rejected = ar_otlp_rejected(ar_buf_str(&s->answer));

	if (rejected > count)
		rejected = count;
	s->counts.requests[AR_OTLP_OK]++;
	s->counts.exported += count - rejected;
	s->counts.dropped[AR_OTLP_REJECTED] += rejected;
	s->not_before = 0;
	remove_first(s);
	report(s, false, "the collector accepts telemetry again");
}

static void not_delivered(struct ar_otlp_sender *s, enum ar_transfer_end end, int status, const char *why)
{
	struct batch *b = first_of(s);
	ar_usec next = mono() + pause_ms(&s->transfer, b, status) * MS;
	char text[160];

	if (status)
		snprintf(text, sizeof(text), "the collector answered with status %d", status);
	else
		snprintf(text, sizeof(text), "%.150s", why);
	report(s, true, text);
	if (!is_repeatable(end, status) || next >= b->expires) {
		s->counts.requests[AR_OTLP_FAILED]++;
		drop_first(s, is_repeatable(end, status) ? AR_OTLP_EXPIRED : AR_OTLP_REFUSED);
		/* The next one has its own chance, and does not get it at once. */
		s->not_before = next;
		return;
	}
	s->counts.requests[AR_OTLP_RETRIED]++;
	s->not_before = next;
}

static bool on_body(struct ar_transfer *t, struct ar_str bytes)
{
	struct ar_otlp_sender *s = AR_CONTAINER_OF(t, struct ar_otlp_sender, transfer);

	ar_buf_adds(&s->answer, ar_str_sub(bytes, 0, ANSWER_READ - s->answer.len));
	return true;
}

static void on_end(struct ar_transfer *t, enum ar_transfer_end end, const char *why)
{
	struct ar_otlp_sender *s = AR_CONTAINER_OF(t, struct ar_otlp_sender, transfer);
	bool is_answer = end == AR_TRANSFER_COMPLETE || end == AR_TRANSFER_TOO_LARGE;
	int status = is_answer ? ar_transfer_status(t) : 0;

	s->is_under_way = false;
	if (end == AR_TRANSFER_CANCELLED) { /* only while it is closed */
		ar_buf_fini(&s->answer);
		return;
	}
	if (status >= 200 && status < 300)
		delivered(s);
	else
		not_delivered(s, end, status, why);
	ar_buf_fini(&s->answer);
	advance(s);
}

static void send_first(struct ar_otlp_sender *s)
{
	static const struct ar_transfer_vtable vtable = { .on_body = on_body, .on_end = on_end };
	struct batch *b = first_of(s);
	uint32_t ms = s->timeout_ms;

	if (s->is_closing && ms > CLOSE_MS)
		ms = CLOSE_MS;
	if (b->attempts++ == 0) {
		b->expires = mono() + (ar_usec)LIFE_MS * MS;
		ar_otlp_end(&b->text, s->source, b->open);
	}
	s->transfer = (struct ar_transfer){ .v = &vtable,
					    .url = s->url,
					    .headers = s->headers,
					    .body = ar_buf_str(&b->text),
					    .limits = { ms, ms, ms, ms, ANSWER_MAX } };
	s->is_under_way = true;
	ar_transfer_start(s->pool, &s->transfer);
}

/* ---- when ---- */

static void on_timer(uv_timer_t *timer)
{
	advance(timer->data);
}

static void on_closed(uv_handle_t *timer)
{
	struct ar_otlp_sender *s = timer->data;

	curl_slist_free_all(s->headers);
	ar_free(s->url);
	ar_free(s->ca_file);
	ar_free(s);
}

static void finish(struct ar_otlp_sender *s)
{
	uv_timer_stop(&s->timer);
	ar_transfer_pool_close(s->pool);
	while (first_of(s))
		drop_first(s, AR_OTLP_STOPPED);
	uv_close((uv_handle_t *)&s->timer, on_closed);
}

static void on_finish(uv_timer_t *timer)
{
	finish(timer->data);
}

static bool is_full(const struct batch *b)
{
	return b->count >= AR_OTLP_BATCH || b->text.len >= BATCH_BYTES;
}

/* When the first batch goes out; 0: now. */
static ar_usec due_at(struct ar_otlp_sender *s)
{
	struct batch *b = first_of(s);
	bool is_ready = s->is_closing || b != last_of(s) || b->attempts > 0 || is_full(b);
	ar_usec due = is_ready ? 0 : b->due;

	return due > s->not_before ? due : s->not_before;
}

static void wait_ms(struct ar_otlp_sender *s, uint64_t ms)
{
	uv_update_time(s->timer.loop);
	uv_timer_start(&s->timer, on_timer, ms, 0);
}

static void advance(struct ar_otlp_sender *s)
{
	ar_usec now = mono();

	if (s->is_under_way)
		return;
	if (s->is_closing && (!first_of(s) || now >= s->close_at || s->not_before > s->close_at)) {
		uv_timer_start(&s->timer, on_finish, 0, 0); /* not inside a callback of the pool */
		return;
	}
	if (!first_of(s))
		return;
	if (now < due_at(s))
		wait_ms(s, (uint64_t)(due_at(s) - now) / MS + 1);
	else
		send_first(s);
}

/* ---- the interface ---- */

struct ar_otlp_sender *ar_otlp_sender_new(uv_loop_t *loop, const struct ar_otlp_options *o)
{
	struct ar_otlp_sender *s = ar_new0(sizeof(*s));

	ar_list_init(&s->queue);
	s->source = o->source;
	s->url = ar_str_dup(ar_str_from(o->url));
	s->ca_file = o->ca_file && *o->ca_file ? ar_str_dup(ar_str_from(o->ca_file)) : NULL;
	s->timeout_ms = o->timeout_ms;
	s->interval_ms = o->interval_ms;
	s->queue_max = o->queue;
	s->on_trouble = o->on_trouble;
	s->arg = o->arg;
	s->headers = curl_slist_append(s->headers, "Content-Type: application/x-protobuf");
	s->headers = curl_slist_append(s->headers, "User-Agent: agent-runtime/" AR_VERSION);
	s->headers = curl_slist_append(s->headers, "Expect:");
	for (size_t i = 0; i < o->header_count; i++)
		s->headers = curl_slist_append(s->headers, o->headers[i].p);
	uv_timer_init(loop, &s->timer);
	s->timer.data = s;
	s->pool = ar_transfer_pool_new(loop, &(struct ar_transfer_pool_options){
						     .tls = strncasecmp(o->url, "https:", 6) == 0,
						     .ca_file = s->ca_file,
						     .kept_connections = 1 });
	return s;
}

struct ar_buf *ar_otlp_sender_room(struct ar_otlp_sender *s)
{
	struct batch *b = last_of(s);

	if (s->is_closing || s->counts.queued >= s->queue_max || s->bytes >= QUEUE_BYTES) {
		s->counts.dropped[s->is_closing ? AR_OTLP_STOPPED : AR_OTLP_FULL]++;
		return NULL;
	}
	if (b && b->attempts == 0 && !is_full(b))
		return &b->text;
	b = ar_new0(sizeof(*b));
	b->open = ar_otlp_begin(&b->text, s->source);
	ar_list_push(&s->queue, &b->node);
	return &b->text;
}

void ar_otlp_sender_added(struct ar_otlp_sender *s, size_t records)
{
	struct batch *b = last_of(s);

	bool is_new = b->count == 0;

	if (is_new)
		b->due = mono() + (ar_usec)s->interval_ms * MS;
	b->count += records;
	s->counts.queued += records;
	s->bytes += b->text.len - b->counted;
	b->counted = b->text.len;
	if (is_new || is_full(b))
		advance(s);
}

void ar_otlp_sender_flush(struct ar_otlp_sender *s)
{
	struct batch *b = last_of(s);

	if (b)
		b->due = 0;
	advance(s);
}

struct ar_otlp_counts ar_otlp_sender_counts(const struct ar_otlp_sender *s)
{
	return s->counts;
}

void ar_otlp_sender_close(struct ar_otlp_sender *s)
{
	if (!s)
		return;
	s->is_closing = true;
	s->close_at = mono() + (ar_usec)CLOSE_MS * MS;
	s->on_trouble = NULL;
	uv_timer_stop(&s->timer);
	advance(s);
}
