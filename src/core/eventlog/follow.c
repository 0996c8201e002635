/* Readers of a session, and the ring of frames that live readers share.
 *
 * A reader is a position and not a queue. It starts at a cursor, reads stored rows until nothing newer is
 * stored (catchup.c), and then takes frames from the ring of its session. A frame is encoded once and
 * shared by all readers through a reference count, so a thousand readers cost a thousand positions.
 *
 * The change from the store to the ring is exact because everything here happens on one thread: what was
 * published before the reader arrived is stored, what is published after it is in the ring. While a step is
 * open its output has offsets; a reader that was cut in the middle of a token asks for the offset after it.
 *
 * Backpressure. The ring is bounded in bytes. A reader that falls behind by a whole ring does not slow
 * others: its stream ends, and it comes back with its cursor and reads from the store.
 *
 * A hub exists while somebody reads the session or a step of it is open. Frames that every live reader has
 * taken are dropped early: later readers get them from the store. Owner: the loop thread. */
#include "follow_priv.h"
#include "describe.h"
#include "mem.h"

#include <string.h>

/* ---- hubs ---- */

static struct ar_str hub_key(const struct ar_hub *h)
{
	return h->feed ? (struct ar_str){ h->feed->key, h->feed->key_len }
		       : (struct ar_str){ h->session_key, AR_SESSION_KEY_LEN };
}

static struct ar_hub *hub_get(struct ar_follow *f, struct ar_str session_key)
{
	struct ar_hub *h = ar_map_get(&f->hubs, session_key);

	if (h)
		return h;
	h = ar_new0(sizeof(*h));
	h->follow = f;
	memcpy(h->session_key, session_key.p, AR_SESSION_KEY_LEN);
	h->partition = ar_id_partition(session_key);
	ar_list_init(&h->readers);
	ar_list_init(&h->outputs);
	ar_map_put(&f->hubs, hub_key(h), h);
	return h;
}

static void hub_drop_oldest(struct ar_hub *h)
{
	struct ar_frame *f = h->ring[h->first % h->room];

	h->bytes -= f->sse.len;
	h->first++;
	ar_frame_unref(f);
}

void ar_hub_release(struct ar_hub *h)
{
	if (!ar_list_empty(&h->readers) || !ar_list_empty(&h->outputs) || (h->feed && h->feed->is_busy))
		return;
	while (h->first < h->next)
		hub_drop_oldest(h);
	ar_free(h->ring);
	ar_map_del(&h->follow->hubs, hub_key(h));
	ar_feed_free(h->feed);
	ar_free(h);
}

static void ring_grow(struct ar_hub *h)
{
	size_t room = h->room ? h->room * 2 : 16;
	struct ar_frame **ring = ar_new0(room * sizeof(*ring));

	for (uint64_t i = h->first; i < h->next; i++)
		ring[i % room] = h->ring[i % h->room];
	ar_free(h->ring);
	h->ring = ring;
	h->room = room;
}

#define TRIM_BYTES (8u * 1024u) /* a few facts: each session that is read keeps so much */

/* Frames that every live reader has taken are of no use: later readers read the store first.
 * Looked for as the ring doubles, so that it costs little however many read. */
static void hub_trim(struct ar_hub *h)
{
	uint64_t oldest = h->next;

	if (h->bytes < TRIM_BYTES || h->bytes < h->trim_at)
		return;
	AR_LIST_FOR (it, &h->readers) {
		const struct ar_follow_cursor *c = AR_CONTAINER_OF(it, struct ar_follow_cursor, node);

		if (c->state == AR_READER_LIVE && c->order < oldest)
			oldest = c->order;
	}
	while (h->first < oldest)
		hub_drop_oldest(h);
	h->trim_at = 2 * h->bytes;
}

void ar_hub_push(struct ar_hub *h, struct ar_frame *f)
{
	if (h->next - h->first == h->room)
		ring_grow(h);
	hub_trim(h);
	f->order = h->next;
	h->ring[h->next++ % h->room] = f;
	h->bytes += f->sse.len;
	while (h->bytes > h->follow->ring_bytes && h->first + 1 < h->next)
		hub_drop_oldest(h);
}

void ar_hub_wake(struct ar_hub *h, enum ar_reader_state state)
{
	AR_LIST_FOR_SAFE (it, &h->readers) {
		struct ar_follow_cursor *c = AR_CONTAINER_OF(it, struct ar_follow_cursor, node);

		if (c->state != AR_READER_LIVE)
			continue;
		c->state = state;
		if (!c->is_idle)
			continue;
		c->is_idle = false;
		c->sub->v->ready(c->sub);
	}
}

/* Where a reader is that has everything published so far. The caller ends it. */
static struct ar_cursor hub_cursor(const struct ar_hub *h)
{
	struct ar_cursor at = { .sequence = h->head };

	AR_LIST_FOR (it, &h->outputs) {
		const struct ar_output *o = AR_CONTAINER_OF(it, struct ar_output, node);

		ar_cursor_set(&at, o->step, o->pos);
	}
	return at;
}

bool ar_follow_is_streaming(const struct ar_follow *f, struct ar_str session_key, struct ar_str thread)
{
	const struct ar_hub *h = ar_map_get(&f->hubs, session_key);

	if (!h)
		return false;
	AR_LIST_FOR (it, &h->outputs) {
		const struct ar_output *o = AR_CONTAINER_OF(it, struct ar_output, node);

		if (!o->stream && o->pos > 0 && ar_str_eq(o->ids[AR_SCOPE_THREAD], thread))
			return true;
	}
	return false;
}

/* ---- the writing side ---- */

struct ar_follow *ar_follow_new(const struct ar_follow_options *o)
{
	struct ar_follow *f = ar_new0(sizeof(*f));

	f->store = o->store;
	f->clock = o->clock;
	f->ring_bytes = o->ring_bytes;
	f->look_every = o->look_every;
	ar_list_init(&f->feeds);
	f->runtime_id = ar_str_from(o->store->runtime_id);
	f->json = ar_json_parser_new();
	return f;
}

void ar_follow_free(struct ar_follow *f)
{
	if (!f)
		return;
	ar_json_parser_free(f->json);
	ar_map_fini(&f->hubs);
	ar_free(f);
}

static struct ar_frame *fact_frame(const struct ar_fact *fact, const struct ar_cursor *at)
{
	struct ar_frame *f = ar_frame_fact(fact->type, fact->sequence, at, fact->json);

	f->process = fact->process;
	return f;
}

void ar_follow_publish(struct ar_follow *f, struct ar_str session_key, const struct ar_fact *facts,
		       size_t count)
{
	struct ar_hub *h = ar_map_get(&f->hubs, session_key);
	struct ar_cursor at;

	if (!h)
		return;
	at = hub_cursor(h);
	for (size_t i = 0; i < count; i++) {
		at.sequence = h->head = facts[i].sequence;
		if (!ar_list_empty(&h->readers))
			ar_hub_push(h, fact_frame(&facts[i], &at));
	}
	ar_cursor_fini(&at);
	ar_hub_wake(h, AR_READER_LIVE);
}

void ar_follow_push_frame(struct ar_follow *f, struct ar_str session_key, struct ar_event *e)
{
	struct ar_hub *h = ar_map_get(&f->hubs, session_key);
	struct ar_frame *frame;
	struct ar_cursor at;

	if (!h || ar_list_empty(&h->readers) || h->head == 0)
		return;
	at = hub_cursor(h);
	e->sequence = at.sequence;
	e->runtime_id = f->runtime_id;
	e->time = f->clock->wall(f->clock);
	frame = ar_frame_event(e, &at);
	ar_cursor_fini(&at);
	frame->is_passing = true;
	ar_hub_push(h, frame);
	ar_hub_wake(h, AR_READER_LIVE);
}

void ar_follow_reread(struct ar_follow *f, struct ar_str session_key, uint64_t head)
{
	struct ar_hub *h = ar_map_get(&f->hubs, session_key);

	if (!h)
		return;
	h->head = head;
	ar_hub_wake(h, AR_READER_QUEUED);
}

void ar_follow_output_open(struct ar_follow *f, struct ar_output *o, uint64_t head)
{
	struct ar_hub *h = hub_get(f, o->session);

	if (h->head < head)
		h->head = head; /* published before anyone read, when there was no hub */
	ar_list_push(&h->outputs, &o->node);
}

void ar_follow_output_grew(struct ar_follow *f, struct ar_output *o, uint64_t from)
{
	struct ar_hub *h = ar_map_get(&f->hubs, o->session);
	struct ar_output_piece piece;
	struct ar_cursor at;

	if (ar_list_empty(&h->readers))
		return;
	at = hub_cursor(h);
	while (ar_output_piece_at(o, from, AR_DELTA_MAX, &piece)) {
		from = piece.pos + piece.len;
		ar_cursor_set(&at, o->step, from);
		ar_hub_push(h, ar_frame_delta(o, &piece, &at, f->runtime_id, f->clock->wall(f->clock)));
	}
	ar_cursor_fini(&at);
	ar_hub_wake(h, AR_READER_LIVE);
}

void ar_follow_output_close(struct ar_follow *f, struct ar_output *o)
{
	struct ar_hub *h = ar_map_get(&f->hubs, o->session);

	ar_list_del(&o->node);
	ar_hub_release(h);
}

/* ---- readers ---- */

static struct ar_str copy_text(char *room, struct ar_str text)
{
	if (ar_str_absent(text) || text.len > AR_ID_MAX)
		return AR_STR_NONE;
	memcpy(room, text.p, text.len);
	return (struct ar_str){ room, text.len };
}

static struct ar_follow_filter *filter_of(const struct ar_follow_request *r)
{
	struct ar_follow_filter *w;

	if (ar_str_absent(r->thread) && ar_str_absent(r->task) && ar_str_absent(r->hidden))
		return NULL;
	w = ar_new0(sizeof(*w));
	w->thread = copy_text(w->text, r->thread);
	w->task = copy_text(w->text + AR_ID_MAX, r->task);
	w->hidden = copy_text(w->text + 2 * AR_ID_MAX, r->hidden);
	return w;
}

/* What it wants, of a session or of a tenant. */
static struct ar_follow_cursor *reader_new(struct ar_subscription *s, const struct ar_follow_request *r)
{
	struct ar_follow_cursor *c = ar_new0(sizeof(*c));

	c->sub = s;
	c->from_now = ar_str_is(r->after, "now");
	c->deltas = r->deltas;
	c->is_strict = r->is_strict;
	c->filter = filter_of(r);
	c->derives = ar_reader_is_deriving(r);
	if (r->types) {
		c->types = ar_grow(NULL, AR_EV_COUNT, sizeof(*c->types));
		memcpy(c->types, r->types, AR_EV_COUNT);
	}
	ar_list_init(&c->node);
	ar_list_init(&c->pending);
	return c;
}

static enum ar_status find_place(struct ar_follow *f, struct ar_follow_cursor *c,
				 const struct ar_follow_request *r, struct ar_error *err)
{
	if (ar_str_absent(r->session))
		return ar_tenant_open(f, c, r, err);
	if (ar_cursor_parse(c->from_now ? AR_STR_NONE : r->after, &c->at, err) != AR_OK)
		return AR_E_REFUSED;
	c->hub = hub_get(f, r->session);
	c->derives = c->derives && f->derive;
	memcpy(c->session_key, r->session.p, AR_SESSION_KEY_LEN);
	return AR_OK;
}

enum ar_status ar_follow_open(struct ar_follow *f, struct ar_subscription *s,
			      const struct ar_follow_request *r, struct ar_error *err)
{
	struct ar_follow_cursor *c = reader_new(s, r);

	if (find_place(f, c, r, err) != AR_OK) {
		ar_catchup_free(c);
		return AR_E_REFUSED;
	}
	ar_list_push(&c->hub->readers, &c->node);
	s->at = c;
	if (c->tenant)
		ar_tenant_begin(c);
	else if (ar_str_absent(r->tenant))
		ar_catchup_begin(c);
	else
		ar_catchup_check(c, r->tenant);
	return AR_OK;
}

/* The id that the event carries in its envelope, which is what stands before the
 * payload; ids need no escapes. */
static bool has_id(const struct ar_frame *f, const char *name, struct ar_str id)
{
	const char *end = memmem(f->json.p, f->json.len, ",\"payload\":", 11);
	size_t len = end ? (size_t)(end - f->json.p) : f->json.len;
	struct ar_str key = ar_str_from(name);
	const char *at = memmem(f->json.p, len, key.p, key.len);
	size_t left = at ? len - (size_t)(at - f->json.p) - key.len : 0;

	return at && left > id.len && memcmp(at + key.len, id.p, id.len) == 0 && at[key.len + id.len] == '"';
}

static bool passes(const struct ar_follow_filter *w, const struct ar_frame *f)
{
	return (ar_str_absent(w->thread) || has_id(f, "\"threadId\":\"", w->thread)) &&
	       (ar_str_absent(w->task) || has_id(f, "\"taskId\":\"", w->task)) &&
	       (ar_str_absent(w->hidden) || !has_id(f, "\"sessionId\":\"", w->hidden));
}

bool ar_reader_wants(const struct ar_follow_cursor *c, const struct ar_frame *f)
{
	if (f->is_delta && !c->deltas)
		return false;
	if (c->is_strict && ar_event_describe(f->type)->class == AR_CLASS_EXTENDED)
		return false;
	if (c->types && !c->types[f->type])
		return false;
	return !c->filter || passes(c->filter, f);
}

void ar_reader_push(struct ar_follow_cursor *c, struct ar_frame *f)
{
	if (!f)
		return;
	if (ar_reader_wants(c, f))
		ar_list_push(&c->pending, &f->node);
	else
		ar_frame_unref(f);
}

/* Everything stored was taken and nothing newer is published: give what the open steps have
 * said so far, then the ring. */
void ar_reader_join(struct ar_follow_cursor *c)
{
	struct ar_hub *h = c->hub;
	struct ar_follow *f = h->follow;

	AR_LIST_FOR (it, &h->outputs) {
		const struct ar_output *o = AR_CONTAINER_OF(it, struct ar_output, node);
		uint64_t pos = c->from_now ? o->pos : ar_cursor_pos(&c->at, o->step);
		struct ar_output_piece piece;

		while (ar_output_piece_at(o, pos, AR_DELTA_MAX, &piece)) {
			pos = piece.pos + piece.len;
			ar_cursor_set(&c->at, o->step, pos);
			ar_reader_push(c, ar_frame_delta(o, &piece, &c->at, f->runtime_id,
							 f->clock->wall(f->clock)));
		}
	}
	c->order = h->next;
	c->from_now = false;
	c->state = AR_READER_LIVE;
}

static struct ar_frame *take_pending(struct ar_follow_cursor *c)
{
	struct ar_list *node = ar_list_pop(&c->pending);

	return node ? AR_CONTAINER_OF(node, struct ar_frame, node) : NULL;
}

/* ---- streams that begin again ----
 *
 * After a restart what a process wrote is sent again from its first byte. A reader that has more of it
 * by its cursor is given the rest only, and keeps its place meanwhile: the id of a shared frame says
 * where the stream is, not where this reader is. */

static const struct ar_output *output_of(const struct ar_hub *h, uint64_t step)
{
	AR_LIST_FOR (it, &h->outputs) {
		const struct ar_output *o = AR_CONTAINER_OF(it, struct ar_output, node);

		if (o->step == step)
			return o;
	}
	return NULL;
}

/* Takes over what the frame says, but for streams of which the reader has more. True: the frame's own
 * id is not the reader's place. */
static bool move_past(struct ar_follow_cursor *c, const struct ar_frame *f)
{
	struct ar_cursor at, had = c->at;
	bool is_elsewhere = false;

	if (ar_cursor_parse(f->id, &at, NULL) != AR_OK)
		return false;
	c->at = at;
	for (size_t i = 0; i < had.count; i++) {
		uint64_t step = had.steps[i].step;

		if (!(step & AR_CURSOR_PROCESS) || (f->process && ar_cursor_is_of(step, f->process)) ||
		    ar_cursor_pos(&c->at, step) >= had.steps[i].pos)
			continue;
		ar_cursor_set(&c->at, step, had.steps[i].pos);
		is_elsewhere = true;
	}
	ar_cursor_fini(&had);
	return is_elsewhere;
}

/* The part of the frame that the reader does not have, as one of its own. The bytes are in the output
 * while it is open, and then in the store: NULL. */
static struct ar_frame *take_rest(struct ar_follow_cursor *c, const struct ar_frame *f, uint64_t pos)
{
	const struct ar_output *o = output_of(c->hub, f->step);
	struct ar_follow *follow = c->hub->follow;
	struct ar_output_piece piece;

	if (!o || !ar_output_piece_at(o, pos, (size_t)(f->until - pos), &piece)) {
		c->state = AR_READER_QUEUED;
		return NULL;
	}
	if (piece.pos + piece.len < f->until)
		c->order--; /* the rest of it next time */
	ar_cursor_set(&c->at, f->step, piece.pos + piece.len);
	return ar_frame_delta(o, &piece, &c->at, follow->runtime_id, follow->clock->wall(follow->clock));
}

static struct ar_frame *take_of_tenant(struct ar_follow_cursor *c)
{
	struct ar_frame *f = NULL;

	while (!f && c->order < c->hub->next)
		f = ar_tenant_take(c, c->hub->ring[c->order++ % c->hub->room]);
	return f;
}

/* A fact of the ring and what follows from it; NULL: the reader wants nothing of it. */
static struct ar_frame *take_derived(struct ar_follow_cursor *c, struct ar_frame *f)
{
	struct ar_cursor after = { 0 };

	if (ar_cursor_parse(f->id, &after, NULL) == AR_OK)
		ar_reader_derive(c, f, &after);
	ar_cursor_fini(&after);
	move_past(c, f);
	ar_reader_push(c, ar_frame_moved(f, &c->at));
	return take_pending(c);
}

static struct ar_frame *take_live(struct ar_follow_cursor *c)
{
	struct ar_hub *h = c->hub;
	struct ar_error err;

	if (c->order < h->first) {
		h->follow->cuts++;
		ar_refuse(&err, AR_ERR_OVERLOADED,
			  "the reader fell behind; connect again with its last event id");
		ar_reader_end(c, &err);
		return NULL;
	}
	if (c->tenant)
		return take_of_tenant(c);
	while (c->order < h->next) {
		struct ar_frame *f = h->ring[c->order++ % h->room];

		if (!f->is_delta && f->sequence <= c->at.sequence)
			continue; /* the reader found it in the store before it was published */
		if (f->is_passing && f->sequence < c->at.sequence)
			continue;
		if (c->derives && !f->is_delta) {
			struct ar_frame *next = take_derived(c, f);

			if (next)
				return next;
			continue;
		}
		if (!ar_reader_wants(c, f) || (f->until > 0 && f->until <= ar_cursor_pos(&c->at, f->step)))
			continue;
		if (f->until > 0 && f->from < ar_cursor_pos(&c->at, f->step))
			return take_rest(c, f, ar_cursor_pos(&c->at, f->step));
		return move_past(c, f) ? ar_frame_moved(f, &c->at) : ar_frame_ref(f);
	}
	return NULL;
}

uint64_t ar_follow_opened_at(const struct ar_subscription *s)
{
	return s->at ? s->at->opened_at : 0;
}

struct ar_frame *ar_follow_next(struct ar_subscription *s)
{
	struct ar_follow_cursor *c = s->at;
	struct ar_frame *f;

	if (!c)
		return NULL;
	f = take_pending(c);
	if (!f && c->state == AR_READER_LIVE)
		f = take_live(c);
	if (f || !s->at)
		return f;
	c->is_idle = true;
	if (c->state == AR_READER_QUEUED && c->tenant)
		ar_tenant_read(c);
	else if (c->state == AR_READER_QUEUED)
		ar_catchup_begin(c);
	return NULL;
}

/* Frees the reader now, or when its store operation is back. */
static void detach(struct ar_follow_cursor *c)
{
	struct ar_hub *h = c->hub;

	c->sub->at = NULL;
	c->state = AR_READER_ENDED;
	ar_list_del(&c->node);
	c->hub = NULL;
	for (struct ar_frame *f = take_pending(c); f; f = take_pending(c))
		ar_frame_unref(f);
	ar_hub_release(h);
	if (!c->is_busy)
		ar_catchup_free(c);
}

void ar_reader_end(struct ar_follow_cursor *c, const struct ar_error *err)
{
	struct ar_subscription *s = c->sub;

	detach(c);
	s->v->ended(s, err);
}

void ar_follow_close(struct ar_subscription *s)
{
	if (s->at)
		detach(s->at);
}

/* The first session that has a reader, of that partition or (AR_PARTITIONS) of any. */
static struct ar_hub *hub_with_reader(struct ar_follow *f, unsigned partition)
{
	struct ar_hub *h;
	size_t cursor = 0;

	while ((h = ar_map_next(&f->hubs, &cursor))) {
		if (ar_list_empty(&h->readers))
			continue;
		if (partition == AR_PARTITIONS || h->partition == partition)
			return h;
	}
	return NULL;
}

void ar_follow_end_partition(struct ar_follow *f, unsigned partition, const struct ar_error *err)
{
	struct ar_hub *h;

	while ((h = hub_with_reader(f, partition)))
		ar_reader_end(AR_CONTAINER_OF(h->readers.next, struct ar_follow_cursor, node), err);
}

void ar_follow_end_session(struct ar_follow *f, struct ar_str session_key, const struct ar_error *err)
{
	struct ar_hub *h;

	while ((h = ar_map_get(&f->hubs, session_key)) && !ar_list_empty(&h->readers))
		ar_reader_end(AR_CONTAINER_OF(h->readers.next, struct ar_follow_cursor, node), err);
}

void ar_follow_end_all(struct ar_follow *f, const struct ar_error *err)
{
	ar_follow_end_partition(f, AR_PARTITIONS, err);
}

uint64_t ar_follow_cuts(const struct ar_follow *f)
{
	return f->cuts;
}

static uint64_t hub_lag(const struct ar_hub *h)
{
	uint64_t lag = 0;

	AR_LIST_FOR (it, &h->readers) {
		const struct ar_follow_cursor *c = AR_CONTAINER_OF(it, struct ar_follow_cursor, node);

		if (c->state == AR_READER_LIVE && h->next - c->order > lag)
			lag = h->next - c->order;
	}
	return lag;
}

uint64_t ar_follow_lag(const struct ar_follow *f)
{
	const struct ar_hub *h;
	uint64_t lag = 0;
	size_t cursor = 0;

	while ((h = ar_map_next(&f->hubs, &cursor)))
		lag = hub_lag(h) > lag ? hub_lag(h) : lag;
	return lag;
}
