/* The fake core. An input may say what should happen: {"delayMs":n} answers later, {"replyBytes":n} answers
 * with that many bytes, {"publish":n,"bytes":m} adds events to the ring. The session "none" does not exist.
 * The text `peer:ADDRESS` in an input says that another node owns it, `unsettled:N` that nobody does for N
 * tries. */
#include "fake_core.h"
#include "mem.h"

#include <stdlib.h>
#include <string.h>

/* What an input may ask for at most: fuzzers write inputs, too. */
#define NUMBER_MAX 2500000 /* no digit is read after it */
#define PUBLISH_MAX 200
#define EVENT_MAX ((size_t)16 * 1024)

struct ar_follow_cursor {
	struct ar_list node;
	struct ar_control *control;
	struct ar_subscription *sub;
	uint64_t at; /* last order delivered */
	uv_timer_t timer;
	bool is_missing;
};

struct delay {
	uv_timer_t timer;
	struct ar_call *call;
};

void fake_core_init(struct ar_control *c, uv_loop_t *loop)
{
	*c = (struct ar_control){ .loop = loop };
	ar_list_init(&c->subscribers);
}

void fake_core_fini(struct ar_control *c)
{
	for (size_t i = 0; i < FAKE_RING; i++)
		ar_frame_unref(c->ring[i]);
}

/* ---- frames ---- */

struct ar_frame *ar_frame_ref(struct ar_frame *f)
{
	f->refs++;
	return f;
}

void ar_frame_unref(struct ar_frame *f)
{
	if (!f || --f->refs)
		return;
	ar_buf_fini(&f->bytes);
	ar_free(f);
}

static void publish(struct ar_control *c, size_t bytes)
{
	struct ar_frame *f = ar_new0(sizeof *f);
	size_t id, sse;

	f->refs = 1;
	f->order = ++c->head;
	ar_buf_addf(&f->bytes, "id: %llu", (unsigned long long)f->order);
	id = f->bytes.len - 4;
	ar_buf_addz(&f->bytes, "\ndata: ");
	for (size_t i = 0; i < bytes; i++)
		ar_buf_addc(&f->bytes, 'x');
	ar_buf_addz(&f->bytes, "\n\n");
	sse = f->bytes.len;
	ar_buf_addc(&f->bytes, '"');
	for (size_t i = 0; i < bytes; i++)
		ar_buf_addc(&f->bytes, 'x');
	ar_buf_addc(&f->bytes, '"');
	f->sse = ar_str_sub(ar_buf_str(&f->bytes), 0, sse);
	f->json = ar_str_sub(ar_buf_str(&f->bytes), sse, bytes + 2);
	f->id = ar_str_sub(f->sse, 4, id);
	ar_frame_unref(c->ring[f->order % FAKE_RING]);
	c->ring[f->order % FAKE_RING] = f;
	AR_LIST_FOR_SAFE (it, &c->subscribers) {
		struct ar_follow_cursor *at = AR_CONTAINER_OF(it, struct ar_follow_cursor, node);

		at->sub->v->ready(at->sub);
	}
}

/* ---- calls ---- */

static size_t number_in(struct ar_str text, const char *name)
{
	const char *p = text.len ? memmem(text.p, text.len, name, strlen(name)) : NULL;
	size_t n = 0;

	if (!p)
		return 0;
	for (p += strlen(name); p < text.p + text.len && (*p < '0' || *p > '9'); p++)
		;
	for (; p < text.p + text.len && *p >= '0' && *p <= '9' && n < NUMBER_MAX; p++)
		n = n * 10 + (size_t)(*p - '0');
	return n;
}

static void answer(struct ar_call *call)
{
	size_t reply = number_in(call->body, "\"replyBytes\"");

	call->http = 200;
	if (reply) {
		memset(ar_buf_room(&call->reply, reply), 'r', reply);
		call->reply.len = reply;
		call->reply.p[0] = call->reply.p[reply - 1] = '"';
	} else {
		ar_buf_addf(&call->reply,
			    "{\"command\":\"%s\",\"input\":", ar_command_descs[call->command].name);
		ar_buf_adds(&call->reply, call->body.len ? call->body : AR_STR("{}"));
		ar_buf_addc(&call->reply, '}');
	}
	call->done(call);
}

static void on_delay_closed(uv_handle_t *handle)
{
	ar_free(handle->data);
}

static void on_delay(uv_timer_t *timer)
{
	struct delay *d = timer->data;

	uv_close((uv_handle_t *)timer, on_delay_closed);
	answer(d->call);
}

static void answer_later(struct ar_control *c, struct ar_call *call, size_t ms)
{
	struct delay *d = ar_new0(sizeof *d);

	*d = (struct delay){ .call = call };
	uv_timer_init(c->loop, &d->timer);
	d->timer.data = d;
	uv_timer_start(&d->timer, on_delay, ms, 0);
}

/* ---- places ---- */

static enum ar_place place_of(struct ar_control *c, struct ar_str body, struct ar_str *ret_peer)
{
	const char *p = body.len ? memmem(body.p, body.len, "peer:", 5) : NULL;
	size_t wait = number_in(body, "unsettled:");
	struct ar_str port;

	if (wait && c->tries++ < wait)
		return AR_PLACE_UNSETTLED;
	c->tries = 0;
	if (!p)
		return AR_PLACE_HERE;
	ar_str_split((struct ar_str){ p + 5, (size_t)(body.p + body.len - p - 5) }, '"', ret_peer);
	port = ar_str_sub(*ret_peer, ret_peer->len > 6 ? ret_peer->len - 6 : 0, 6);
	return c->own_port && number_in(port, ":") == c->own_port ? AR_PLACE_HERE : AR_PLACE_PEER;
}

static bool is_here(struct ar_control *c, struct ar_call *call)
{
	struct ar_str peer = AR_STR_NONE;
	enum ar_place place = place_of(c, call->body, &peer);

	if (place == AR_PLACE_HERE)
		return true;
	if (call->is_from_peer) {
		call->http = ar_control_error(AR_ERR_NOT_OWNER, "not here", &call->reply);
	} else {
		call->place = place;
		call->peer = ar_arena_str(&call->arena, peer);
	}
	call->done(call);
	return false;
}

void ar_control_call(struct ar_control *c, struct ar_call *call)
{
	size_t delay = number_in(call->body, "\"delayMs\""), count = number_in(call->body, "\"publish\"");
	size_t bytes = number_in(call->body, "\"bytes\"");

	if (!is_here(c, call))
		return;
	for (size_t i = 0; i < count && i < PUBLISH_MAX; i++)
		publish(c, bytes < EVENT_MAX ? bytes : EVENT_MAX);
	if (delay)
		answer_later(c, call, delay);
	else
		answer(call);
}

struct ar_str ar_call_reply(const struct ar_call *c)
{
	return ar_buf_str(&c->reply);
}

void ar_call_fini(struct ar_call *c)
{
	ar_buf_fini(&c->reply);
	ar_arena_fini(&c->arena);
}

void ar_call_reset(struct ar_call *c)
{
	struct ar_call kept = { .arena = c->arena, .reply = c->reply };

	ar_arena_reset(&kept.arena);
	ar_buf_clear(&kept.reply);
	*c = kept;
}

int ar_control_error(uint16_t code, const char *message, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_key(&w, "error");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "code", ar_str_from(ar_error_descs[code].name));
	ar_jw_mstr(&w, "message", ar_str_from(message));
	ar_jw_close(&w);
	ar_jw_close(&w);
	return ar_error_descs[code].http;
}

int ar_control_error_later(uint16_t code, const char *message, uint32_t retry_ms AR_UNUSED,
			   struct ar_buf *out)
{
	return ar_control_error(code, message, out);
}

/* ---- following ---- */

static void on_open(uv_timer_t *timer)
{
	struct ar_follow_cursor *at = timer->data;
	struct ar_error err = { 0 };

	if (at->is_missing) {
		ar_refuse(&err, AR_ERR_SESSION_NOT_FOUND, "no session has this id");
		at->sub->v->ended(at->sub, &err);
		return;
	}
	ar_list_push(&at->control->subscribers, &at->node);
	at->sub->v->opened(at->sub);
	at->sub->v->ready(at->sub);
}

void ar_control_leave(struct ar_following *f AR_UNUSED, enum ar_leave why AR_UNUSED)
{
}

enum ar_status ar_control_subscribe(struct ar_control *c, struct ar_subscribe_call *call,
				    struct ar_subscription *s, struct ar_error *err)
{
	struct ar_str body = call->body;
	struct ar_follow_cursor *at;

	if (body.len && memmem(body.p, body.len, "\"bad\"", 5))
		return ar_refuse(err, AR_ERR_INVALID_CURSOR, "the cursor does not parse");
	call->place = place_of(c, body, &call->peer);
	if (call->place != AR_PLACE_HERE)
		return ar_refuse(err, AR_ERR_NOT_OWNER, "not here");
	at = s->at = ar_new0(sizeof *at);
	at->control = c;
	at->sub = s;
	at->at = number_in(body, "\"after\"");
	at->is_missing = body.len && memmem(body.p, body.len, "\"none\"", 6);
	ar_list_init(&at->node);
	uv_timer_init(c->loop, &at->timer);
	at->timer.data = at;
	uv_timer_start(&at->timer, on_open, 0, 0);
	return AR_OK;
}

struct ar_frame *ar_follow_next(struct ar_subscription *s)
{
	struct ar_follow_cursor *at = s->at;
	struct ar_control *c = at->control;

	if (at->at >= c->head)
		return NULL;
	if (c->head - at->at > FAKE_RING) {
		ar_list_del(&at->node);
		s->v->ended(s, NULL);
		return NULL;
	}
	at->at++;
	return ar_frame_ref(c->ring[at->at % FAKE_RING]);
}

static void on_cursor_closed(uv_handle_t *handle)
{
	ar_free(handle->data);
}

uint64_t ar_follow_opened_at(const struct ar_subscription *s AR_UNUSED)
{
	return 0;
}

void ar_follow_close(struct ar_subscription *s)
{
	if (!s->at)
		return;
	ar_list_del(&s->at->node);
	uv_close((uv_handle_t *)&s->at->timer, on_cursor_closed);
	s->at = NULL;
}

void ar_control_verify(struct ar_control *c AR_UNUSED, struct ar_call *call)
{
	ar_buf_addz(&call->reply, "{\"sessions\":[],\"elsewhere\":0}");
	call->http = 200;
	call->done(call);
}

void ar_control_act(struct ar_control *c AR_UNUSED, struct ar_call *call, const char *command AR_UNUSED)
{
	call->http = 200;
	call->done(call);
}

void ar_control_write_origin(struct ar_jw *w AR_UNUSED, const struct ar_call_origin *from AR_UNUSED)
{
}

struct ar_call_origin ar_control_read_origin(struct ar_json v AR_UNUSED, struct ar_arena *a AR_UNUSED)
{
	return (struct ar_call_origin){ 0 };
}

void ar_control_audit_told(struct ar_control *c AR_UNUSED, struct ar_str note AR_UNUSED,
			   bool is_later AR_UNUSED)
{
}
