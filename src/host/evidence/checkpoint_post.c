/* See checkpoint_post.h. */
#include "evidence/checkpoint_post.h"
#include "clock.h"
#include "hash.h"
#include "json.h"
#include "mem.h"
#include "post.h"
#include "sign.h"
#include "url.h"

#define WAITING_MAX ((size_t)1024 * 1024) /* bytes; then newer ones are dropped */
#define TIMEOUT_MS 10000
#define BODY "{\"type\":\"log.checkpoints\",\"checkpoints\":["
#define BODY_END "]}"

struct ar_checkpoint_post {
	const struct ar_log *log;
	const struct ar_config *config;
	struct ar_webhook_poster *poster;
	struct ar_webhook_post post;
	struct ar_arena arena; /* id and key of the attempt */
	struct ar_buf waiting; /* objects with commas between */
	struct ar_buf body; /* of the request that is under way or is to be repeated; empty: none */
	ar_usec not_before; /* monotonic: the receiver asked to wait */
	bool is_sending, has_failed, has_dropped, is_closing;
};

/* ---- what waits ---- */

void ar_checkpoint_write(struct ar_buf *out, struct ar_str note, struct ar_str leaves)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "checkpoint", note);
	if (leaves.len > 0)
		ar_jw_mstr(&w, "leaves", leaves);
	ar_jw_close(&w);
}

void ar_checkpoint_post_add(struct ar_checkpoint_post *p, struct ar_str note, struct ar_str leaves)
{
	if (p->waiting.len >= WAITING_MAX) {
		if (!p->has_dropped)
			ar_log_line(
				p->log, "error",
				"checkpoints of logs are dropped: too many wait for evidence.checkpoint_url",
				NULL);
		p->has_dropped = true;
		return;
	}
	if (p->waiting.len > 0)
		ar_buf_addc(&p->waiting, ',');
	ar_checkpoint_write(&p->waiting, note, leaves);
}

/* ---- a request ---- */

static void log_outcome(struct ar_checkpoint_post *p, const struct ar_webhook_outcome *o)
{
	if (!o->is_delivered && !p->has_failed)
		ar_log_line(p->log, "error", "checkpoints of logs cannot be sent", o->reason);
	if (o->is_delivered && p->has_failed)
		ar_log_line(p->log, "info", "checkpoints of logs are sent again", NULL);
	p->has_failed = !o->is_delivered;
	if (o->is_delivered)
		p->has_dropped = false;
}

static void on_posted(struct ar_webhook_post *post, const struct ar_webhook_outcome *o)
{
	struct ar_checkpoint_post *p = AR_CONTAINER_OF(post, struct ar_checkpoint_post, post);
	struct ar_clock *clock = ar_clock_system();

	p->is_sending = false;
	if (o->is_cancelled || p->is_closing)
		return;
	log_outcome(p, o);
	p->not_before = clock->mono(clock) + o->retry_after_ms * 1000;
	if (!o->is_delivered)
		return; /* at a later tick */
	ar_buf_clear(&p->body);
	ar_checkpoint_post_send(p);
}

static void fill_body(struct ar_checkpoint_post *p)
{
	if (p->body.len > 0 || p->waiting.len == 0)
		return;
	ar_buf_adds(&p->body, AR_STR(BODY));
	ar_buf_adds(&p->body, ar_buf_str(&p->waiting));
	ar_buf_adds(&p->body, AR_STR(BODY_END));
	ar_buf_clear(&p->waiting);
}

/* The same bytes have the same id, so that a receiver knows a repeat. */
static struct ar_str id_of(struct ar_checkpoint_post *p)
{
	struct ar_hash hash = ar_hash_of(ar_buf_str(&p->body));
	char hex[AR_HASH_HEX];

	ar_hash_hex(&hash, hex);
	return ar_webhook_delivery_id(AR_STR("log.checkpoints"), (struct ar_str){ hex, AR_HASH_LEN * 2 },
				      &p->arena);
}

void ar_checkpoint_post_send(struct ar_checkpoint_post *p)
{
	struct ar_clock *clock = ar_clock_system();
	struct ar_str secret;

	fill_body(p);
	if (p->is_sending || p->is_closing || p->body.len == 0 || clock->mono(clock) < p->not_before)
		return;
	ar_arena_reset(&p->arena);
	secret = ar_arena_str(&p->arena, ar_str_from(p->config->evidence.checkpoint_secret));
	p->post = (struct ar_webhook_post){ .url = ar_str_from(p->config->evidence.checkpoint_url),
					    .id = id_of(p),
					    .body = ar_buf_str(&p->body),
					    .trace_parent = AR_STR_NONE,
					    .timeout_ms = TIMEOUT_MS,
					    .done = on_posted };
	if (!ar_webhook_key(secret, &p->arena, &p->post.key)) {
		log_outcome(p, &(struct ar_webhook_outcome){
				       .reason = "evidence.checkpoint_secret is not usable" });
		return;
	}
	p->is_sending = true;
	ar_webhook_post_start(p->poster, &p->post);
}

/* ---- life ---- */

enum ar_status ar_checkpoint_post_check(const struct ar_config *c, struct ar_error *err)
{
	const char *url = c->evidence.checkpoint_url, *secret = c->evidence.checkpoint_secret;
	struct ar_arena a = { 0 };
	struct ar_str key;
	/* a reference has no value yet while settings are only checked */
	bool is_usable = !*secret || ar_webhook_key(ar_str_from(secret), &a, &key);

	ar_arena_fini(&a);
	if (*url && !ar_url_is_safe(url))
		return ar_fail(err, AR_E_INVALID,
			       "evidence.checkpoint_url is neither https nor an address of this machine");
	if (!is_usable)
		return ar_fail(err, AR_E_INVALID,
			       "evidence.checkpoint_secret is neither whsec_ with base64 of at least 16 "
			       "bytes nor a text of at least 16 bytes");
	return AR_OK;
}

struct ar_checkpoint_post *ar_checkpoint_post_open(uv_loop_t *loop, const struct ar_log *log,
						   const struct ar_config *c)
{
	struct ar_checkpoint_post *p = ar_new0(sizeof(*p));
	struct ar_url url;

	ar_url_parse(c->evidence.checkpoint_url, &url);
	p->log = log;
	p->config = c;
	p->poster = ar_webhook_poster_new(loop, url.is_https, c->evidence.checkpoint_ca_file);
	return p;
}

void ar_checkpoint_post_close(struct ar_checkpoint_post *p)
{
	if (!p)
		return;
	p->is_closing = true;
	ar_webhook_poster_close(p->poster);
}

void ar_checkpoint_post_free(struct ar_checkpoint_post *p)
{
	if (!p)
		return;
	ar_buf_fini(&p->waiting);
	ar_buf_fini(&p->body);
	ar_arena_fini(&p->arena);
	ar_free(p);
}
