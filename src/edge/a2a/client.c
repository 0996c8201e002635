/* See client.h. A run asks for the card when there is none that is fresh, then for what it wants; one that
 * follows a task goes on with a stream or by asking again. Loop thread only. */
#include "client_priv.h"
#include "crypto/sha256.h"
#include "mem.h"

#include <string.h>

#define FAILURES_MAX 3 /* in a row, before a run that follows gives up */
#define PAUSE_MS 250 /* before a stream is asked for again; doubles */
#define PUSHED_MS 1000 /* at most, between two questions about a task whose peer posts what is new */

static void step(struct ar_a2a_call *c);

static struct ar_a2a_client *client_of(struct ar_peer *p)
{
	return AR_CONTAINER_OF(p, struct ar_a2a_client, base);
}

const char *ar_a2a_error_word(enum ar_peer_error error)
{
	static const char *const words[] = {
		[AR_PEER_OK] = "ok",
		[AR_PEER_UNREACHABLE] = "unreachable",
		[AR_PEER_AUTH] = "auth",
		[AR_PEER_REFUSED] = "refused",
		[AR_PEER_NOT_FOUND] = "not_found",
		[AR_PEER_PROTOCOL] = "protocol",
		[AR_PEER_TOO_LARGE] = "too_large",
		[AR_PEER_UNSUPPORTED] = "unsupported",
		[AR_PEER_UNTRUSTED] = "untrusted",
		[AR_PEER_TIMEOUT] = "timeout",
		[AR_PEER_CANCELLED] = "cancelled",
	};

	return words[error];
}

/* ---- the end ---- */

static void on_timer_closed(uv_handle_t *handle)
{
	struct ar_a2a_call *c = handle->data;

	ar_free(c);
}

static void finish(struct ar_a2a_call *c)
{
	struct ar_peer_run *run = c->run;
	const struct ar_a2a_outcome *o = &c->outcome;
	bool is_follow = run->op == AR_PEER_FOLLOW;
	struct ar_peer_result result = { .error = o->error,
					 .is_sent = c->is_sent,
					 .http = o->http,
					 .code = o->code,
					 .retry_after_ms = o->retry_after_ms,
					 .reason = o->reason,
					 .next_page = c->next_page };

	if (o->error == AR_PEER_OK && run->op == AR_PEER_CARD)
		result.card = &c->client->card;
	if (is_follow && !ar_str_absent(c->last.native_status)) {
		result.tasks = &c->last;
		result.task_count = 1;
	} else if (!is_follow && o->error == AR_PEER_OK) {
		result.tasks = c->tasks;
		result.task_count = c->task_count;
	}
	if (o->error != AR_PEER_OK && o->error != AR_PEER_CANCELLED && c->client->o.on_trouble)
		c->client->o.on_trouble(c->client->o.arg, o->error, o->reason);
	c->run = NULL;
	ar_list_del(&c->node);
	run->peer_state = NULL;
	run->on_done(run, &result);
	ar_sse_fini(&c->sse);
	ar_buf_fini(&c->body);
	ar_arena_fini(&c->asked);
	ar_arena_fini(&c->came);
	ar_arena_fini(&c->kept);
	uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}

static void fail(struct ar_a2a_call *c, enum ar_peer_error error, const char *why)
{
	c->outcome.may_repeat = false;
	ar_a2a_answer_fail(c, error, why);
	finish(c);
}

/* ---- steps ---- */

static void on_timer(uv_timer_t *timer)
{
	step(timer->data);
}

/* The next step after so long, or at the deadline. */
static void pause_for(struct ar_a2a_call *c, uint64_t ms)
{
	ar_usec left = (c->run->deadline - ar_a2a_now()) / 1000 + 1;

	if (left < 0)
		left = 0;
	uv_timer_start(&c->timer, on_timer, ms < (uint64_t)left ? ms : (uint64_t)left, 0);
}

static enum ar_a2a_ask next_ask(const struct ar_a2a_call *c)
{
	static const enum ar_a2a_ask of[] = {
		[AR_PEER_CARD] = AR_A2A_ASK_CARD,	 [AR_PEER_SEND] = AR_A2A_ASK_SEND,
		[AR_PEER_GET] = AR_A2A_ASK_GET,		 [AR_PEER_LIST] = AR_A2A_ASK_LIST,
		[AR_PEER_FOLLOW] = AR_A2A_ASK_SUBSCRIBE, [AR_PEER_CANCEL] = AR_A2A_ASK_CANCEL,
	};
	const struct ar_a2a_client *client = c->client;

	if (client->card_until == 0 || (client->card_until <= ar_a2a_now() && !c->has_card))
		return AR_A2A_ASK_CARD;
	if (c->run->op != AR_PEER_FOLLOW)
		return of[c->run->op];
	return c->polls || c->run->way != AR_PEER_BY_STREAM || !client->card.has_streaming
		       ? AR_A2A_ASK_GET
		       : AR_A2A_ASK_SUBSCRIBE;
}

static void step(struct ar_a2a_call *c)
{
	struct ar_a2a_client *client = c->client;
	bool is_known = true;

	c->was_woken = c->is_woken;
	c->is_waiting = c->is_woken = false;
	if (c->is_cancelled || client->is_closing) {
		fail(c, AR_PEER_CANCELLED, "cancelled");
		return;
	}
	if (c->run->deadline <= ar_a2a_now()) {
		fail(c, AR_PEER_TIMEOUT, "the time for it is over");
		return;
	}
	ar_arena_reset(&c->asked);
	c->request = (struct ar_a2a_request){ .ask = next_ask(c), .id = ++client->last_id };
	if (c->request.ask == AR_A2A_ASK_CARD) {
		c->request.method = "GET";
		c->request.id = 0;
		c->request.url = ar_a2a_card_url(ar_str_from(client->o.url), &c->asked);
		c->request.body = AR_STR_NONE;
	} else {
		is_known = ar_a2a_request_write(&c->request, &client->interface, c->run, client->second,
						&c->asked);
	}
	if (is_known)
		ar_a2a_exchange_start(c);
	else
		fail(c, AR_PEER_UNSUPPORTED, "the version that the peer speaks has no such request");
}

/* ---- what came ---- */

static bool is_over(enum ar_peer_state state)
{
	return ar_peer_state_is_end(state) || state == AR_PEER_STATE_INPUT_REQUIRED;
}

/* The newest state is kept for the end of the run; artifacts were told when they came. */
static void keep_last(struct ar_a2a_call *c, const struct ar_peer_update *u)
{
	if (u->state == AR_PEER_STATE_NONE)
		return;
	ar_arena_reset(&c->kept);
	c->last = (struct ar_peer_update){ .task_id = ar_arena_str(&c->kept, u->task_id),
					   .context_id = ar_arena_str(&c->kept, u->context_id),
					   .state = u->state,
					   .native_status = ar_arena_str(&c->kept, u->native_status),
					   .message = ar_arena_str(&c->kept, u->message),
					   .message_id = ar_arena_str(&c->kept, u->message_id),
					   .time = u->time };
}

bool ar_a2a_call_update(struct ar_a2a_call *c, const struct ar_peer_update *u)
{
	keep_last(c, u);
	c->is_ended = is_over(u->state);
	if (c->run->on_update)
		c->run->on_update(c->run, u);
	return !c->is_ended && !c->is_cancelled;
}

/* All that an update says, so that a poll tells only what is new. */
static struct ar_hash digest_of(const struct ar_peer_update *u)
{
	struct ar_sha256 sum = { 0 };
	struct ar_hash digest;

	ar_sha256_add(&sum, u->native_status);
	ar_sha256_add(&sum, ar_str_absent(u->message) ? AR_STR("") : u->message);
	for (size_t i = 0; i < u->artifact_count; i++) {
		ar_sha256_add(&sum, u->artifacts[i].id);
		for (size_t n = 0; n < u->artifacts[i].part_count; n++)
			ar_sha256_add(&sum, u->artifacts[i].parts[n].bytes);
	}
	digest = ar_sha256_end(&sum);
	ar_sha256_fini(&sum);
	return digest;
}

/* Whether it was new. */
static bool tell_poll(struct ar_a2a_call *c)
{
	struct ar_hash now = digest_of(&c->tasks[0]);

	if (memcmp(&now, &c->seen, sizeof now) == 0)
		return false;
	c->seen = now;
	(void)ar_a2a_call_update(c, &c->tasks[0]);
	return true;
}

/* A flood of what a peer posts is answered by a question now and then. */
static uint64_t pushed_pause(const struct ar_a2a_call *c)
{
	uint64_t least = c->client->o.poll_ms < PUSHED_MS ? c->client->o.poll_ms : PUSHED_MS;
	uint64_t since = (uint64_t)(ar_a2a_now() - c->asked_at) / 1000;

	return since < least ? least - since : 0;
}

/* What was posted, and is not in the task, may be a moment ahead of it. */
static void wait_for_push(struct ar_a2a_call *c, bool is_new)
{
	const struct ar_a2a_options *o = &c->client->o;

	c->asked_at = ar_a2a_now();
	c->is_waiting = true;
	if (c->is_woken)
		pause_for(c, pushed_pause(c));
	else
		pause_for(c, c->was_woken && !is_new ? o->poll_ms : o->idle_ms);
}

static void follow(struct ar_a2a_call *c)
{
	const struct ar_a2a_outcome *o = &c->outcome;

	if (c->request.ask == AR_A2A_ASK_GET && o->error == AR_PEER_OK) {
		bool is_new = tell_poll(c);

		c->failures = 0;
		if (is_over(c->tasks[0].state) || c->is_cancelled)
			finish(c);
		else if (c->run->way == AR_PEER_BY_PUSH)
			wait_for_push(c, is_new);
		else
			pause_for(c, c->client->o.poll_ms);
		return;
	}
	if (c->is_ended) {
		c->outcome.error = AR_PEER_OK;
		finish(c);
		return;
	}
	if (c->request.ask == AR_A2A_ASK_SUBSCRIBE && o->error == AR_PEER_UNSUPPORTED) {
		c->polls = true;
		step(c);
		return;
	}
	c->failures = c->got_event ? 0 : c->failures + 1;
	if (!o->may_repeat || c->failures >= FAILURES_MAX) {
		finish(c);
		return;
	}
	pause_for(c, o->retry_after_ms > 0 ? (uint64_t)o->retry_after_ms : (uint64_t)PAUSE_MS << c->failures);
}

void ar_a2a_call_ended(struct ar_a2a_call *c)
{
	struct ar_a2a_outcome *o = &c->outcome;

	if (c->is_cancelled || c->client->is_closing) {
		fail(c, AR_PEER_CANCELLED, "cancelled");
		return;
	}
	if (o->error == AR_PEER_UNREACHABLE && c->run->deadline <= ar_a2a_now()) {
		fail(c, AR_PEER_TIMEOUT, "the time for it is over");
		return;
	}
	if (c->request.ask == AR_A2A_ASK_CARD && o->error == AR_PEER_OK && c->run->op != AR_PEER_CARD) {
		c->has_card = true;
		step(c);
		return;
	}
	if (c->run->op == AR_PEER_FOLLOW && c->request.ask != AR_A2A_ASK_CARD)
		follow(c);
	else
		finish(c);
}

/* ---- the port ---- */

static void prepare(struct ar_a2a_client *client)
{
	const char *why;

	if (client->pool)
		return;
	client->pool =
		ar_transfer_pool_new(client->loop, &(struct ar_transfer_pool_options){
							   .tls = strncmp(client->o.url, "https:", 6) == 0,
							   .ca_file = client->o.ca_file,
							   .kept_connections = 4 });
	client->parser = ar_json_parser_new();
	client->second = ar_json_parser_new();
	if (ar_str_absent(client->o.keys))
		return;
	/* Keys that cannot be read leave an empty set: then no card is trusted. */
	client->keys = ar_new0(sizeof(*client->keys));
	(void)ar_jwks_read(client->keys, client->second, client->o.keys, &why);
}

static void peer_start(struct ar_peer *p, struct ar_peer_run *run)
{
	struct ar_a2a_client *client = client_of(p);
	struct ar_a2a_call *c = ar_new0(sizeof(*c));

	prepare(client);
	c->client = client;
	c->run = run;
	run->peer_state = c;
	ar_list_push(&client->calls, &c->node);
	uv_timer_init(client->loop, &c->timer);
	c->timer.data = c;
	if (run->op == AR_PEER_CARD)
		client->card_until = 0;
	uv_timer_start(&c->timer, on_timer, 0, 0);
}

static void peer_cancel(struct ar_peer *p AR_UNUSED, struct ar_peer_run *run)
{
	struct ar_a2a_call *c = run->peer_state;

	if (!c || c->is_cancelled)
		return;
	c->is_cancelled = true;
	if (c->is_running)
		ar_transfer_cancel(&c->transfer);
	else
		uv_timer_start(&c->timer, on_timer, 0, 0);
}

static void peer_wake(struct ar_peer *p AR_UNUSED, struct ar_peer_run *run)
{
	struct ar_a2a_call *c = run->peer_state;

	if (!c || c->is_cancelled || c->is_woken)
		return;
	c->is_woken = true;
	if (c->is_waiting)
		pause_for(c, pushed_pause(c));
}

static void peer_close(struct ar_peer *p)
{
	struct ar_a2a_client *client = client_of(p);

	client->is_closing = true;
	if (client->pool)
		ar_transfer_pool_close(client->pool);
	AR_LIST_FOR_SAFE (it, &client->calls)
		step(AR_CONTAINER_OF(it, struct ar_a2a_call, node));
	ar_json_parser_free(client->parser);
	ar_json_parser_free(client->second);
	if (client->keys)
		ar_jwks_fini(client->keys);
	ar_free(client->keys);
	ar_arena_fini(&client->card_arena);
	ar_free(client);
}

struct ar_peer *ar_a2a_peer_new(uv_loop_t *loop, const struct ar_a2a_options *o)
{
	static const struct ar_peer_vtable vtable = { peer_start, peer_cancel, peer_wake, peer_close };
	struct ar_a2a_client *client = ar_new0(sizeof(*client));

	client->base.v = &vtable;
	client->loop = loop;
	client->o = *o;
	ar_list_init(&client->calls);
	return &client->base;
}
