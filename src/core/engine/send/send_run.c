/* Commands to other sessions, in flight: the answer goes to the inbox of the session that sent it. A command
 * that found nobody is sent again after a pause; the session stays in memory meanwhile. What is dropped
 * because the runtime ends or the session moves is sent again by its recovery. */
#include "describe.h"
#include "engine_priv.h"
#include "request/delivery.h"
#include "send/send_run.h"

#define PAUSE_FIRST ((ar_usec)50 * 1000)
#define PAUSE_MAX ((ar_usec)5 * 1000 * 1000)

enum send_state {
	SEND_PLANNED = 1,
	SEND_RUNNING,
	SEND_PAUSED, /* its timer runs */
	SEND_ENDED,
};

struct ar_live_send {
	struct ar_list node; /* live's sends */
	struct ar_live *live;
	struct ar_arena arena;
	enum send_state state;
	struct ar_timer timer;
	ar_usec pause;
	struct ar_send_run run;
	struct ar_sent sent;
	struct ar_delivery ended;
};

static void send_free(struct ar_live_send *s)
{
	ar_timer_stop(&s->timer);
	ar_list_del(&s->node);
	ar_arena_fini(&s->arena);
	ar_free(s);
}

static void end_delivered(struct ar_delivery *d)
{
	send_free(AR_CONTAINER_OF(d, struct ar_live_send, ended));
}

static void deliver(struct ar_live_send *s)
{
	s->ended.over = end_delivered;
	s->ended.request.input = (struct ar_input){ .kind = AR_IN_SENT, .sent = &s->sent };
	ar_delivery_send(s->live, &s->ended);
}

static void start(struct ar_live_send *s)
{
	struct ar_engine *e = s->live->engine;

	s->state = SEND_RUNNING;
	e->counts.steps++;
	e->load[s->live->partition].steps++;
	if (e->sender)
		e->sender->v->start(e->sender, &s->run);
	else
		s->run.on_done(&s->run, AR_ERR_UNAVAILABLE, AR_STR("{}"));
}

static void on_timer(struct ar_timer *t)
{
	struct ar_live_send *s = AR_CONTAINER_OF(t, struct ar_live_send, timer);

	if (s->state == SEND_ENDED)
		deliver(s);
	else
		start(s);
}

static void on_timer_dropped(struct ar_timer *t)
{
	send_free(AR_CONTAINER_OF(t, struct ar_live_send, timer));
}

/* Of these the command is the same when it is repeated, and may be accepted then. */
static bool is_worth_repeating(uint16_t code)
{
	switch (code) {
	case AR_ERR_TIMEOUT:
	case AR_ERR_OVERLOADED:
	case AR_ERR_STORAGE_UNAVAILABLE:
	case AR_ERR_OUTCOME_UNKNOWN:
	case AR_ERR_NOT_OWNER:
	case AR_ERR_OWNER_UNREACHABLE:
	case AR_ERR_RATE_LIMITED:
	case AR_ERR_TENANT_QUOTA_EXCEEDED:
		return true;
	default:
		return false;
	}
}

/* The inbox is written by a timer, since the answer may come while the session is still at work. */
static void on_done(struct ar_send_run *r, uint16_t code, struct ar_str reply)
{
	struct ar_live_send *s = AR_CONTAINER_OF(r, struct ar_live_send, run);
	struct ar_engine *e = s->live->engine;

	e->counts.steps--;
	e->load[s->live->partition].steps--;
	if (e->is_stopping)
		return; /* the next start sends it again */
	if (is_worth_repeating(code) && !s->live->is_released) { /* otherwise the next owner sends it again */
		s->state = SEND_PAUSED;
		s->pause = s->pause ? s->pause * 2 : PAUSE_FIRST;
		if (s->pause > PAUSE_MAX)
			s->pause = PAUSE_MAX;
		ar_timer_start(e, &s->timer, s->pause);
		return;
	}
	s->state = SEND_ENDED;
	s->sent.code = code;
	s->sent.reply = ar_arena_str(&s->arena, reply);
	ar_timer_start(e, &s->timer, 0);
}

void ar_engine_send_by(struct ar_engine *e, struct ar_sender *sender)
{
	e->sender = sender;
}

void ar_send_plan(struct ar_live *l, const struct ar_effect_send *effect)
{
	struct ar_live_send *s = ar_new0(sizeof(*s));

	s->live = l;
	s->state = SEND_PLANNED;
	s->sent.subject = ar_arena_str(&s->arena, effect->subject);
	s->run = (struct ar_send_run){ .command = (int)effect->command,
				       .body = ar_arena_str(&s->arena, effect->body),
				       .tenant = ar_arena_str(&s->arena, ar_session_tenant(&l->state)),
				       .person = ar_arena_str(&s->arena, effect->person),
				       .on_done = on_done };
	s->timer = (struct ar_timer){ .live = l, .fire = on_timer, .drop = on_timer_dropped };
	ar_list_init(&s->timer.node);
	ar_list_push(&l->sends, &s->node);
}

void ar_sends_begin(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->sends) {
		struct ar_live_send *s = AR_CONTAINER_OF(it, struct ar_live_send, node);

		if (s->state == SEND_PLANNED)
			start(s);
	}
}

/* Those that wait for their timer go with the timers. */
void ar_sends_release(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->sends) {
		struct ar_live_send *s = AR_CONTAINER_OF(it, struct ar_live_send, node);

		if (s->state == SEND_PLANNED)
			send_free(s);
	}
}

void ar_sends_drop(struct ar_live *l)
{
	while (!ar_list_empty(&l->sends))
		send_free(AR_CONTAINER_OF(l->sends.next, struct ar_live_send, node));
}
